from __future__ import annotations

from django.apps import AppConfig


class ContactsConfig(AppConfig):
    name = "apps.contacts"
    label = "contacts"

    def ready(self) -> None:
        from apps.contacts import queries, rooms, sql  # noqa: PLC0415  apps are ready only now
        from apps.inbox.presence import register_members  # noqa: PLC0415
        from apps.inbox.queries import register_loader  # noqa: PLC0415

        register_loader(queries.EVENTS, queries.load)
        register_loader(("room.invited",), rooms.load)
        register_members(sql.together)
