from __future__ import annotations

from django.apps import AppConfig


class ThreadsConfig(AppConfig):
    name = "apps.threads"
    label = "threads"

    def ready(self) -> None:
        from django.db.models.signals import post_delete  # noqa: PLC0415  apps are ready only now

        from apps.core import wake  # noqa: PLC0415
        from apps.inbox.queries import register_loader  # noqa: PLC0415
        from apps.threads import blobs, entries, files, guard, models, queries, rooms  # noqa: PLC0415

        wake.register("thread", queries.generations)
        register_loader(("thread.opened", "thread.message", "thread.state"), queries.load)
        register_loader(entries.EVENTS, entries.load)
        register_loader(files.EVENTS, files.load)
        register_loader(("room.removed",), rooms.load_removed)
        register_loader((guard.EVENT,), guard.load)
        post_delete.connect(blobs.released, models.FileVersion)
