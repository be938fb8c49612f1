from __future__ import annotations

from django.apps import AppConfig


class IdentitiesConfig(AppConfig):
    name = "apps.identities"
    label = "identities"

    def ready(self) -> None:
        from apps.core import wake  # noqa: PLC0415  apps are ready only now
        from apps.identities import queries  # noqa: PLC0415

        wake.register("cred", queries.credential_alive)
