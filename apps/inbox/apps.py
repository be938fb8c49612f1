from __future__ import annotations

from django.apps import AppConfig


class InboxConfig(AppConfig):
    name = "apps.inbox"
    label = "inbox"

    def ready(self) -> None:
        from apps.core import wake  # noqa: PLC0415  apps are ready only now
        from apps.inbox import queries, webhooks  # noqa: PLC0415

        wake.register("inbox", queries.heads)
        queries.register_loader((webhooks.DISABLED,), webhooks.load)
