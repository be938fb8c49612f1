"""Which rooms anybody may join."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, Subquery

from apps.contacts.models import Chat, Member
from apps.core import ids, paging, times
from apps.core.paging import Page
from apps.identities import search_text

MAX_WORDS = 100  # no topic has more


@dataclass(frozen=True, slots=True)
class PublicRoom:
    """A room as the directory shows it."""

    id: UUID
    topic: str
    members: int
    created_at: datetime
    activity_at: datetime

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "id": ids.show("con", self.id),
            "topic": self.topic,
            "members": self.members,
            "created_at": times.show(self.created_at),
            "activity_at": times.show(self.activity_at),
        }


def _view(row: Any) -> PublicRoom:
    """Any: the type does not know the count that is read with the row."""
    return PublicRoom(row.pk, row.topic, row.count, row.created_at, row.activity_at)


def search(q: str, limit: int, cursor: str | None) -> Page[PublicRoom]:
    """A page of public rooms whose topic has every word of `q`, newest first: one statement.

    An empty room is not shown. Raises invalid for a cursor of another search.
    """
    words = search_text.words(q)
    if len(words) > MAX_WORDS:
        return Page([], None)
    inside = Member.objects.filter(chat=OuterRef("pk"), state=Member.State.MEMBER).order_by()
    rows = Chat.objects.filter(kind=Chat.Kind.ROOM, visibility=Chat.Visibility.PUBLIC).annotate(
        count=Subquery(inside.values("chat").annotate(count=Count("pk")).values("count"))
    )
    for word in words:
        rows = rows.filter(search_text__contains=word)
    page = paging.newest(rows.filter(count__gt=0), "created_at", f"rooms:{' '.join(words)}", limit, cursor)
    return Page([_view(row) for row in page.items], page.next_cursor)
