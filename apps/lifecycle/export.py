"""All that is kept of an identity, read a page at a time: what `GET /v1/me/export` sends.

Each page goes on by a key that never changes, so that what happens meanwhile makes it skip nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from apps.contacts import queries as contacts
from apps.contacts.models import Block, Invite, Member
from apps.core import audit, ids, limits, times
from apps.core.actor import Actor
from apps.core.paging import MAX_LIMIT, Page
from apps.core.strict_json import dumps
from apps.identities import keys, tokens
from apps.identities import sql as identities_sql
from apps.identities.access import admit
from apps.identities.queries import own, shut_out
from apps.inbox import webhooks
from apps.lifecycle import reports
from apps.lifecycle.models import Report
from apps.threads import chat_sql, chats
from apps.threads import sql as threads_sql
from apps.threads.models import File
from apps.threads.show import thread_json

Json = dict[str, Any]
Section = Callable[[Actor, Any], tuple[list[Json], Any]]
M = TypeVar("M", bound=Model)
T = TypeVar("T")

# What an export shows, so that no token reads more by it than by the calls for each.
SCOPES = ("profile", "contacts", "messages:read", "files", "webhooks", "tokens")
_MESSAGES = 20  # of up to 256 KiB each: what is not taken yet is in memory


def begin(header: str | None, address: str) -> Actor:
    """Who exports, counted. Raises unauthenticated, suspended, insufficient_scope, rate_limited."""
    actor = admit(header, address, "read")
    for scope in SCOPES:
        actor.need(scope)
    limits.hit("export", actor.identity)
    return actor


def check(actor: Actor) -> None:
    """Raise unauthenticated or suspended when the actor's access was taken away meanwhile (one statement)."""
    if not identities_sql.alive([actor.credential]):
        raise shut_out(actor)


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of an export, and where the section goes on; None at its end."""

    lines: list[bytes]
    at: Any


def read(actor: Actor, name: str, at: Any) -> Part:
    """The next lines of a section, from its beginning when `at` is None; a fixed number of statements.

    The credential is looked at after they were read. Raises unauthenticated, suspended.
    """
    found, following = SECTIONS[name](actor, at)
    check(actor)
    return Part([line(name, one) for one in found], following)


def line(type: str, data: Json) -> bytes:
    """One line: an object that says what kind of object it holds."""
    return dumps({"type": type, "data": data}) + b"\n"


# -- sections -----------------------------------------------------------------------------------------------------


def _profile(actor: Actor, _: Any) -> tuple[list[Json], Any]:
    return [own(actor.identity).show()], None


def _listed(page: Callable[[Actor, int, str | None], Page[T]], show: Callable[[T], Json]) -> Section:
    """A section of what another call lists, by its cursors."""

    def section(actor: Actor, at: Any) -> tuple[list[Json], Any]:
        found = page(actor, MAX_LIMIT, at)
        return [show(one) for one in found.items], found.next_cursor

    return section


def _rows(query: Callable[[Actor], QuerySet[M]], show: Callable[[M, Actor], Json]) -> Section:
    """A section of rows, by their keys."""

    def section(actor: Actor, at: Any) -> tuple[list[Json], Any]:
        rows = query(actor) if at is None else query(actor).filter(pk__gt=at)
        found = list(rows.order_by("pk")[:MAX_LIMIT])
        return [show(row, actor) for row in found], found[-1].pk if len(found) == MAX_LIMIT else None

    return section


def _contacts(actor: Actor, at: Any) -> tuple[list[Json], Any]:
    found = contacts.walk(actor, at or 0, MAX_LIMIT)
    following = found[-1].identity.number if len(found) == MAX_LIMIT else None
    return [one.show() for one in found], following


def _chats(actor: Actor, at: Any) -> tuple[list[Json], Any]:
    found = chat_sql.walk(actor.identity, at, MAX_LIMIT)
    return [chats.show(row) for row in found], found[-1].id if len(found) == MAX_LIMIT else None


def _messages(actor: Actor, at: tuple[UUID, int | None] | None) -> tuple[list[Json], Any]:
    """What a chat shows the actor, a chat after the other; of a room that it has left, what it wrote itself."""
    chat, cursor = at or (UUID(int=0), None)
    mine = Member.objects.filter(identity=actor.identity)
    mine = mine.filter(chat__gt=chat) if cursor is None else mine.filter(chat=chat)
    member = mine.order_by("chat").first()
    if member is None:
        return [], None if cursor is None else (chat, None)
    if member.state == Member.State.MEMBER:
        found = chat_sql.history(
            actor.identity, member.chat_id, after=cursor or 0, before=None, limit=_MESSAGES
        )
    else:
        found = chat_sql.written(actor.identity, member.chat_id, cursor or 0, _MESSAGES)
    more = found[-1].cursor if len(found) == _MESSAGES else None
    return [entry.show(actor.identity) for entry in found], (member.chat_id, more)


def _threads(actor: Actor, at: tuple[threads_sql.Side, Any] | None) -> tuple[list[Json], Any]:
    """First what it asked, then what it was asked. One that changes meanwhile may come twice: the later line holds."""
    side, after = at or ("asker", None)
    rows = threads_sql.walk(actor.identity, side, after, MAX_LIMIT)
    shown = [thread_json(row, actor.identity) for row in rows]
    if len(rows) == MAX_LIMIT:
        return shown, (side, (rows[-1].activity_at, rows[-1].id))
    return shown, ("assignee", None) if side == "asker" else None


def _block(row: Block, _: Actor) -> Json:
    return {"identity": row.other.ref.show(), "created_at": times.show(row.created_at)}


def _invite(row: Invite, actor: Actor) -> Json:
    """What became of one that it sent is the other's to tell."""
    received = row.receiver_id == actor.identity
    return {
        "id": ids.show("inv", row.pk),
        "chat": ids.show("con", row.chat_id),
        "from": row.sender.ref.show(),
        "to": row.receiver.ref.show(),
        "note": row.note,
        "state": row.state if received else None,
        "created_at": times.show(row.created_at),
    }


def _invites(actor: Actor) -> QuerySet[Invite]:
    blocked = Block.objects.filter(owner=actor.identity).values("other__account")
    received = Q(receiver=actor.identity) & ~Q(sender__account__in=blocked)
    return Invite.objects.filter(Q(sender=actor.identity) | received).select_related("sender", "receiver")


def _file(row: File, _: Actor) -> Json:
    versions = sorted(row.versions.all(), key=lambda one: one.version)
    return {
        "id": ids.show("fil", row.pk),
        "chat": ids.show("con", row.chat_id),
        "created_at": times.show(row.created_at),
        "updated_at": times.show(row.updated_at),
        "versions": [
            {
                "version": one.version,
                "name": one.name,
                "media_type": one.media_type,
                "size": one.size,
                "sha256": bytes(one.sha256).hex(),
                "created_at": times.show(one.created_at),
            }
            for one in versions
        ],
    }


SECTIONS: dict[str, Section] = {
    "profile": _profile,
    "token": _listed(tokens.listed, lambda token: token.show()),
    "key": _listed(lambda actor, limit, at: keys.listed(actor, None, limit, at), lambda key: key.show()),
    "contact": _contacts,
    "block": _rows(lambda actor: Block.objects.filter(owner=actor.identity).select_related("other"), _block),
    "chat": _chats,
    "message": _messages,
    "thread": _threads,
    "invite": _rows(_invites, _invite),
    "file": _rows(
        lambda actor: File.objects.filter(owner=actor.identity, deleted_at=None).prefetch_related("versions"),
        _file,
    ),
    "webhook": _listed(webhooks.listed, lambda hook: hook.show()),
    "report": _rows(
        lambda actor: Report.objects.filter(reporter=actor.identity).select_related("about"),
        lambda row, _: reports.show(row),
    ),
    "audit": _listed(audit.log, lambda note: note.show()),
}
