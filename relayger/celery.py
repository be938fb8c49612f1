"""The jobs of a deployment: Celery's workers run them, its beat says when.

`celery --app relayger.celery worker` and, once for all of them, `celery --app relayger.celery beat`. The embedded
service needs neither.
"""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "relayger.settings")

import django

django.setup()

from apps.lifecycle.tasks import app  # noqa: E402

__all__ = ["app"]
