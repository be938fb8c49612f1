"""Lists: a limit, and a cursor that only the list that gave it takes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.core import signing
from django.db.models import Model, Q, QuerySet

from apps.core import ids, times
from apps.core.errors import DomainError, invalid

DEFAULT_LIMIT = 50
MAX_LIMIT = 100

T = TypeVar("T")
M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of items and the cursor of the next, None on the last."""

    items: list[T]
    next_cursor: str | None

    def show(self, one: Callable[[T], Any]) -> dict[str, Any]:
        """The page as JSON, each item shown by `one`."""
        return {"items": [one(item) for item in self.items], "next_cursor": self.next_cursor}


def seal(scope: str, key: Sequence[Any]) -> str:
    """A cursor for `key` (JSON values) that is good only for `scope` (list, viewer and filters)."""
    return signing.dumps(list(key), salt=f"cursor:{scope}", compress=False)


def unseal(scope: str, cursor: str, *, field: str = "cursor") -> list[Any]:
    """The key inside a cursor. Raises invalid when it was not given out for `scope`."""
    try:
        key = signing.loads(cursor, salt=f"cursor:{scope}")
    except (signing.BadSignature, ValueError):
        raise foreign_cursor(field) from None
    if not isinstance(key, list):
        raise foreign_cursor(field)
    return key


def foreign_cursor(field: str) -> DomainError:
    """The error for a cursor of another list."""
    return invalid(field, "This cursor is not from this list with these filters.", next="Start without it.")


def position(scope: str, cursor: str, prefix: ids.Prefix) -> tuple[datetime, UUID]:
    """The time and id that a list ordered by both goes on after, from a cursor of a shown time and id.

    Raises invalid for a cursor of another list.
    """
    key = unseal(scope, cursor)
    at, id = times.read(str(key[0])), ids.read(prefix, str(key[1])) if len(key) == 2 else None
    if at is None or id is None:
        raise foreign_cursor("cursor")
    return at, id


def cut(rows: list[T], limit: int, scope: str, key: Callable[[T], Sequence[Any]]) -> Page[T]:
    """A page from up to `limit + 1` rows; the row past the limit only says that there is more."""
    if len(rows) <= limit:
        return Page(rows, None)
    rows = rows[:limit]
    return Page(rows, seal(scope, key(rows[-1])))


def newest(rows: QuerySet[M], moment: str, scope: str, limit: int, cursor: str | None) -> Page[M]:
    """A page of a query that is not hot, newest first by its time field `moment`, then by its UUID `id`.

    One statement. Raises invalid for a cursor of another list.
    """
    if cursor is not None:
        at, id = unseal(scope, cursor)
        before = times.read(at)
        rows = rows.filter(Q(**{f"{moment}__lt": before}) | Q(**{moment: before, "pk__lt": id}))
    found = list(rows.order_by(f"-{moment}", "-pk")[: limit + 1])
    return cut(found, limit, scope, lambda row: (times.show(getattr(row, moment)), row.pk.hex))
