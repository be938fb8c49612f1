"""What a deleted identity leaves: its open threads and its rooms, one chat in each transaction.

Each step looks again under the chat's lock, so that it may be repeated, be done by two processes at once, or go on
after the process was killed between two.
"""

from __future__ import annotations

from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from apps.contacts.models import Chat, Member
from apps.contacts.sql import lock_chat
from apps.core import db
from apps.core.actor import Actor
from apps.identities.models import Identity
from apps.inbox.actions import Event, publish
from apps.threads import changes, entries, sql
from apps.threads.models import LIVE, State, Thread

_THREADS = 100  # of one chat, ended in one transaction
_GONE = (
    "((t.asker_id = %s AND a.deleted_at IS NOT NULL) OR (t.assignee_id = %s AND b.deleted_at IS NOT NULL))"
)


def unfinished(most: int) -> list[int]:
    """Deleted identities, not yet gone for good, that have something open still."""
    live = Thread.objects.filter(state__in=LIVE)
    rooms = Member.objects.filter(state__in=_IN, chat__kind=Chat.Kind.ROOM)
    found = Identity.objects.filter(purge_at__isnull=False).filter(
        Exists(live.filter(asker=OuterRef("pk")))
        | Exists(live.filter(assignee=OuterRef("pk")))
        | Exists(rooms.filter(identity=OuterRef("pk")))
    )
    return list(found.order_by("pk").values_list("pk", flat=True)[:most])


def end_threads(number: int, chats: int) -> int:
    """End live threads of a deleted identity, in up to `chats` chats; in how many it was at work.

    What it asked is canceled, what it was asked has failed.
    """
    mine = Thread.objects.filter(Q(asker=number) | Q(assignee=number), state__in=LIVE)
    found = list(mine.order_by("chat").values_list("chat", flat=True).distinct()[:chats])
    for chat in found:
        with db.write():
            if lock_chat(chat) is not None:
                publish(_end_in(number, chat))
    return len(found)


def _end_in(number: int, chat: UUID) -> list[Event]:
    events: list[Event] = []
    where = f"t.chat_id = %s AND t.state IN ({db.places(LIVE)}) AND {_GONE}"
    for row in sql.threads(where, [chat, *LIVE, number, number], _THREADS):
        state = State.CANCELED if row.asker.number == number else State.FAILED
        changed, entry = changes.change(row, state, number)
        events += changes.events(changed, entry, "thread.state", number)
    return events


_IN = (Member.State.MEMBER, Member.State.INVITED)


def leave_rooms(gone: Actor, rooms: int) -> int:
    """Take a deleted identity out of up to `rooms` rooms, and end its invitations to them; how many there were.

    A room that it owned goes to the member who has been there longest.
    """
    mine = Member.objects.filter(identity=gone.identity, state__in=_IN, chat__kind=Chat.Kind.ROOM)
    found = list(mine.order_by("chat").values_list("chat", flat=True)[:rooms])
    for chat in found:
        with db.write():
            if lock_chat(chat) is not None:
                _leave(gone, chat)
    return len(found)


def _leave(gone: Actor, chat: UUID) -> None:
    mine = Member.objects.filter(
        chat=chat, identity=gone.identity, state__in=_IN, identity__deleted_at__isnull=False
    ).first()
    if mine is None:
        return
    was_member, owned = mine.state == Member.State.MEMBER, mine.role == Member.Role.OWNER
    mine.state = Member.State.LEFT if was_member else Member.State.DECLINED
    mine.role = Member.Role.MEMBER
    mine.save(update_fields=["state", "role"])
    if owned:
        others = Member.objects.filter(chat=chat, state=Member.State.MEMBER)
        if not others.filter(role=Member.Role.OWNER).exists():
            heir = others.order_by("joined_at", "pk").first()
            if heir is not None:
                heir.role = Member.Role.OWNER
                heir.save(update_fields=["role"])
    if was_member:
        about = {"identity": gone.ref.show()}
        publish(entries.news(entries.append(chat, gone, "room.left", about=about)))
