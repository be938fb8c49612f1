"""Reading contacts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from apps.contacts import sql
from apps.contacts.models import Contact
from apps.core import paging, times
from apps.core.actor import Actor, Ref
from apps.core.paging import Page
from apps.identities.queries import Person

EVENTS = ("contact.requested", "contact.accepted", "contact.declined", "contact.removed")


@dataclass(frozen=True, slots=True)
class Seen:
    """How one identity sees another; without a row all but the other is empty."""

    identity: Ref
    state: str | None = None
    note: str = ""
    updated_at: datetime | None = None

    def show(self) -> dict[str, Any]:
        """The contact as JSON."""
        return {
            "identity": self.identity.show(),
            "state": self.state,
            "note": self.note,
            "updated_at": times.show_maybe(self.updated_at),
        }


def relation(owner: int, other: int) -> str | None:
    """How `owner` sees `other`: a Contact.State, None when it is no contact (one statement)."""
    return sql.state_of(owner, other)


def contact(owner: int, other: Person) -> Seen:
    """How `owner` sees `other`, also when it is no contact (one statement)."""
    found = _seen(Contact.objects.filter(owner=owner, other=other.number))
    return found[0] if found else Seen(other.ref)


def contacts(actor: Actor, state: str | None, limit: int, cursor: str | None) -> Page[Seen]:
    """My contacts (of one state), newest change first: one statement.

    Raises insufficient_scope, invalid for a cursor of another list.
    """
    actor.need("contacts")
    scope = f"contacts:{actor.identity}:{state or ''}"
    mine = _contacts_of(actor)
    if state is not None:
        mine = mine.filter(state=state)
    if cursor is not None:
        at, number = _position(scope, cursor)
        mine = mine.filter(Q(updated_at__lt=at) | Q(updated_at=at, other__gt=number))
    found = _seen(mine.order_by("-updated_at", "other_id")[: limit + 1])
    return paging.cut(found, limit, scope, _key)


def walk(actor: Actor, after: int, limit: int) -> list[Seen]:
    """My contacts with a number past `after`, ascending: an order that no change disturbs (one statement)."""
    return _seen(_contacts_of(actor).filter(other__gt=after).order_by("other_id")[:limit])


def _key(seen: Seen) -> list[Any]:
    return [times.show_maybe(seen.updated_at), seen.identity.number]


def _position(scope: str, cursor: str) -> tuple[datetime, int]:
    key = paging.unseal(scope, cursor)
    at = times.read(str(key[0])) if len(key) == 2 else None
    if at is None:
        raise paging.foreign_cursor("cursor")
    return at, int(key[1])


def load(actor: Actor, subjects: list[str]) -> dict[str, dict[str, Any]]:
    """The inbox's loader: others' numbers to my contacts with them as they stand (one statement)."""
    numbers = [int(subject) for subject in subjects]
    found = _seen(_contacts_of(actor).filter(other__in=numbers))
    return {str(seen.identity.number): seen.show() for seen in found}


def _contacts_of(actor: Actor) -> QuerySet[Contact]:
    """An actor's contacts without deleted ones, who are back if they are restored."""
    return Contact.objects.filter(owner=actor.identity, other__deleted_at=None)


def _seen(rows: QuerySet[Contact]) -> list[Seen]:
    return [
        Seen(Ref(number, handle, kind, name), state, note, at)
        for number, handle, kind, name, state, note, at in rows.values_list(
            "other_id",
            "other__handle",
            "other__kind",
            "other__display_name",
            "state",
            "note",
            "updated_at",
        )
    ]
