from __future__ import annotations

from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "apps.core"
    label = "core"

    def ready(self) -> None:
        from django.core.signals import request_finished  # noqa: PLC0415  apps are ready only now

        from apps.core import db  # noqa: PLC0415  the same

        request_finished.connect(db.give_back)
