from __future__ import annotations

from django.apps import AppConfig


class IdentitiesConfig(AppConfig):
    name = "apps.identities"
    label = "identities"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in  # noqa: PLC0415  apps are ready only now

        from apps.core import wake  # noqa: PLC0415  the same
        from apps.identities import queries, users  # noqa: PLC0415

        wake.register("cred", queries.credential_alive)
        user_logged_in.connect(users.signed_in)
