"""Django's settings, all derived from the checked environment in `relayger.config`."""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

import dj_database_url

from relayger import __version__, config

RELAYGER = config.load()

BASE_DIR = config.ROOT
assert RELAYGER.secret_key is not None  # noqa: S101  config.load() made one
SECRET_KEY = RELAYGER.secret_key.get_secret_value()
DEBUG = RELAYGER.debug
ALLOWED_HOSTS = [RELAYGER.host, "127.0.0.1", "localhost", "[::1]"]
ROOT_URLCONF = "relayger.urls"
ASGI_APPLICATION = "relayger.asgi.application"
APPEND_SLASH = False  # a redirect would lose a POST's body; asgi.py accepts both spellings

INSTALLED_APPS = [
    # Only its runserver is used, and Twisted costs every other start a second.
    *(["daphne"] if sys.argv[1:2] == ["runserver"] else []),
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_ratelimit",
    "apps.core",
    "apps.identities",
    "apps.inbox",
    "apps.contacts",
    "apps.threads",
    "apps.directory",
    "apps.lifecycle",
    "apps.a2a",
]
AUTH_USER_MODEL = "identities.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "apps.core.assets.Assets",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True  # a checkout serves its assets as they lie there, without a step in between

_https = urlsplit(RELAYGER.origin).scheme == "https"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SESSION_COOKIE_AGE = 43_200  # operators sign in anew every day
CSRF_TRUSTED_ORIGINS = [RELAYGER.origin]
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _https
# TLS ends at a proxy: without one to say how a request came, a redirect would never end.
SECURE_SSL_REDIRECT = _https and RELAYGER.trusted_proxies > 0
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^v1/", r"^a2a/"]  # nothing redirects a POST
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if RELAYGER.trusted_proxies else None

if RELAYGER.database_url is not None and RELAYGER.redis_url is not None:
    _database = dj_database_url.parse(RELAYGER.database_url)
    DATABASES = {
        "default": {
            **_database,
            "CONN_MAX_AGE": 0,  # a connection goes back to the pool, not to its thread
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": {
                "pool": {"min_size": 1, "max_size": RELAYGER.db_threads + 8, "timeout": 5},
                "connect_timeout": 5,
                # A writer that stands still must not hold up others for ever: as long as SQLite's timeout.
                "options": "-c lock_timeout=20s -c idle_in_transaction_session_timeout=60s",
                **_database.get("OPTIONS", {}),  # what the URL says (sslmode, …)
            },
        }
    }
    _limits: dict[str, object] = {
        "BACKEND": "apps.core.cache.CountingCache",
        "LOCATION": RELAYGER.redis_url,
        "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1},
    }
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            # Redis keeps its databases' keys apart but not their channels: two services may share one server.
            "CONFIG": {
                "hosts": [RELAYGER.redis_url],
                "prefix": f"relayger{urlsplit(RELAYGER.redis_url).path.replace('/', '-')}.",
            },
        }
    }
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": RELAYGER.var / "relayger.sqlite3",
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                "timeout": 20,
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
            },
        }
    }
    _limits = {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "limits",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
ATOMIC_REQUESTS = False
if RELAYGER.files_bucket is not None:
    from botocore.config import Config as S3Config  # type: ignore[import-untyped]  # slow, and only for S3

    _files: dict[str, object] = {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": RELAYGER.files_bucket,
            "endpoint_url": RELAYGER.files_endpoint,
            "region_name": RELAYGER.files_region,
            "file_overwrite": False,
            "default_acl": None,
            "max_memory_size": 1 << 20,  # what is read is kept on the disk past that
            # Files have few threads: none may wait for long on one that does not answer.
            "client_config": S3Config(connect_timeout=5, read_timeout=20, retries={"max_attempts": 2}),
        },
    }
else:
    _files = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {
            "location": RELAYGER.var / "files",
            "file_permissions_mode": 0o600,
            "directory_permissions_mode": 0o700,
        },
    }
STORAGES = {
    "default": _files,
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "default"},
    "limits": _limits,
}
RATELIMIT_USE_CACHE = "limits"

# django-ratelimit does not know Django's own Redis cache yet, which counts atomically. It asks for a cache shared
# between processes, too, and the embedded service is one process.
SILENCED_SYSTEM_CHECKS = ["django_ratelimit.W001", *(["django_ratelimit.E003"] if RELAYGER.embedded else [])]
RATELIMIT_IPV6_MASK = 64

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False

DATA_UPLOAD_MAX_MEMORY_SIZE = RELAYGER.body_bytes

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apps.identities.rest.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["apps.core.rest.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["apps.core.rest.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "apps.core.schema.Schema",
    "EXCEPTION_HANDLER": "apps.core.rest.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "apps.core.rest.JSONOnly",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Relayger",
    "DESCRIPTION": "Identities, contacts and questions that get answered. See also the A2A endpoint of each agent.",
    "VERSION": __version__,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "ChatKind": "apps.contacts.models.Chat.Kind",
        "ContactState": "apps.contacts.models.Contact.State",
        "DeliveryState": "apps.inbox.models.Outbox.State",
        "EntryKind": "apps.threads.models.Entry.Kind",
        "IdentityKind": "apps.identities.models.Identity.Kind",
        "MemberRole": "apps.contacts.models.Member.Role",
        "ThreadRole": ["asker", "assignee"],
        "ThreadState": "apps.threads.models.State",
        "WebhookState": "apps.inbox.models.Webhook.State",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.core.schema.standard_patterns",
    ],
    "SCHEMA_PATH_PREFIX": r"/v1",
    "SERVERS": [{"url": "/"}],
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": RELAYGER.log_level},
    "loggers": {
        # One writes a line for each call that @relayger makes, the other for each call that is refused.
        "httpx": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},
        # It shows a traceback each second while Redis is away; core.wake says so once.
        "channels_redis": {"level": "CRITICAL"},
    },
}
