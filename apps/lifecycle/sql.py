"""The statements of retention and of an identity's end, in batches that two processes may work on at once."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import orjson
from django.db import connection

from apps.core import db
from apps.core.strict_json import dumps


def _claim() -> str:
    """Lock what is taken and pass over what another process has taken; SQLite's one writer needs neither."""
    return " FOR UPDATE SKIP LOCKED" if connection.vendor == "postgresql" else ""


def overfull_inboxes(before: datetime, most: int, limit: int = 100) -> list[int]:
    """Identities whose inbox has events older than `before`, or more than `most`; up to `limit` of each."""
    found = db.rows(
        "SELECT identity_id FROM"
        " (SELECT identity_id FROM inbox_inboxevent WHERE created_at < %s ORDER BY created_at LIMIT %s) AS aged"
        " UNION SELECT identity_id FROM"
        " (SELECT identity_id FROM inbox_inboxhead WHERE seq - floor > %s LIMIT %s) AS long",
        [before, limit, most, limit],
    )
    return sorted(number for (number,) in found)


def drop_events(number: int, before: datetime, most: int, batch: int) -> int:
    """Drop up to `batch` of an inbox's oldest events that are too old or too many; returns how many.

    The floor rises in the same transaction. 0 also when another process is at this inbox.
    """
    with db.write():
        head = db.row(
            f"SELECT seq, floor FROM inbox_inboxhead WHERE identity_id = %s{_claim()}",
            [number],
        )
        if head is None:
            return 0
        seq, floor = head
        newest_aged = db.row(
            "SELECT MAX(seq) FROM inbox_inboxevent WHERE identity_id = %s AND seq > %s AND seq <= %s"
            " AND created_at < %s",
            [number, floor, floor + batch, before],
        )
        aged = newest_aged[0] if newest_aged else None
        target = min(max(aged or 0, seq - most), floor + batch)
        if target <= floor:
            return 0
        db.rows("UPDATE inbox_inboxhead SET floor = %s WHERE identity_id = %s", [target, number])
        db.rows("DELETE FROM inbox_inboxevent WHERE identity_id = %s AND seq <= %s", [number, target])
        return int(target - floor)


def forget_keys(before: datetime, batch: int) -> int:
    """Delete up to `batch` idempotency keys made before; returns how many."""
    return _delete(
        f"core_idempotencykey WHERE id IN (SELECT id FROM core_idempotencykey WHERE created_at < %s"
        f" ORDER BY created_at LIMIT %s{_claim()})",
        [before, batch],
    )


def free_handles(now: datetime, batch: int) -> int:
    """Delete up to `batch` held handles whose time has passed; returns how many."""
    return _delete(
        f"identities_handle WHERE handle IN (SELECT handle FROM identities_handle WHERE held_until <= %s"
        f" ORDER BY held_until LIMIT %s{_claim()})",
        [now, batch],
    )


def forget_audit(before: datetime, batch: int) -> int:
    """Delete up to `batch` entries of audit logs made before; returns how many."""
    return _delete(
        f"core_auditentry WHERE id IN (SELECT id FROM core_auditentry WHERE at < %s"
        f" ORDER BY at LIMIT %s{_claim()})",
        [before, batch],
    )


def lift_suspensions(now: datetime, batch: int) -> list[int]:
    """Lift up to `batch` suspensions whose time has passed; whose they were."""
    found = db.rows(
        "UPDATE identities_identity SET suspended_at = NULL, suspended_until = NULL, suspended_reason = ''"
        " WHERE number IN (SELECT number FROM identities_identity WHERE suspended_until <= %s"
        f" ORDER BY suspended_until LIMIT %s{_claim()}) RETURNING number",
        [now, batch],
    )
    return [number for (number,) in found]


def _delete(rest: str, params: list[object]) -> int:
    with db.write():
        return len(db.rows(f"DELETE FROM {rest} RETURNING 1", params))


# -- who may be reported ------------------------------------------------------------------------------------------


def seen(me: int, who: int | str) -> int | None:
    """The identity with this number or handle, if `me` may see it: listed, a contact, or in a chat with `me`."""
    column = "number" if isinstance(who, int) else "handle"
    found = db.row(
        f"SELECT i.number FROM identities_identity i WHERE i.{column} = %s"
        " AND i.deleted_at IS NULL AND i.suspended_at IS NULL"
        " AND ((i.listed AND i.hidden_at IS NULL) OR i.number = %s"
        " OR EXISTS (SELECT 1 FROM contacts_contact c WHERE c.owner_id = %s AND c.other_id = i.number)"
        " OR EXISTS (SELECT 1 FROM contacts_member mine JOIN contacts_member theirs ON theirs.chat_id = mine.chat_id"
        "  WHERE mine.identity_id = %s AND mine.state = 'member' AND theirs.identity_id = i.number"
        "  AND theirs.state = 'member'))",
        [who, me, me, me],
    )
    return None if found is None else int(found[0])


def note_run(name: str, at: datetime) -> None:
    """Note when a job last ran to its end."""
    with db.write():
        db.rows(
            "INSERT INTO lifecycle_jobrun (name, ran_at) VALUES (%s, %s)"
            " ON CONFLICT (name) DO UPDATE SET ran_at = excluded.ran_at",
            [name, at],
        )


def runs() -> dict[str, datetime]:
    """When each job last ran to its end."""
    return {name: db.time(at) for name, at in db.rows("SELECT name, ran_at FROM lifecycle_jobrun")}


# -- the end of an identity ---------------------------------------------------------------------------------------


class Table(NamedTuple):
    """Rows that go with an identity: where, their key, and a condition that takes its number."""

    name: str
    key: str
    whose: str


# In this order: who is in no chat is told of nothing more, so the inbox comes after the memberships.
TABLES = [
    Table("contacts_member", "id", "identity_id = %s"),
    Table("contacts_contact", "id", "owner_id = %s"),
    Table("contacts_contact", "id", "other_id = %s"),
    Table("contacts_block", "id", "owner_id = %s"),
    Table("contacts_invite", "id", "sender_id = %s"),
    Table("contacts_invite", "id", "receiver_id = %s"),
    Table("inbox_outbox", "id", "webhook_id IN (SELECT id FROM inbox_webhook WHERE identity_id = %s)"),
    Table("inbox_webhook", "id", "identity_id = %s"),
    Table("inbox_inboxevent", "seq", "identity_id = %s"),
    Table("inbox_inboxhead", "identity_id", "identity_id = %s"),
    Table("identities_claim", "id", "identity_id = %s"),
    Table("identities_credential", "id", "identity_id = %s"),
    Table("identities_presence", "identity_id", "identity_id = %s"),
    Table("identities_skill", "id", "identity_id = %s"),
    Table("core_idempotencykey", "id", "identity = %s"),
    Table("core_auditentry", "id", "identity = %s"),
]


def claim_gone(number: int, now: datetime) -> bool:
    """Lock an identity whose time has passed until commit; False when it is not due, or another process has it."""
    lock = f"{db.lock()} SKIP LOCKED" if db.lock() else ""
    sql = f"SELECT 1 FROM identities_identity WHERE number = %s AND purge_at <= %s{lock}"
    return db.row(sql, [number, now]) is not None


def drop(table: Table, number: int, batch: int) -> int:
    """Delete up to `batch` of an identity's rows; how many."""
    name, key, whose = table
    found = db.rows(
        f"DELETE FROM {name} WHERE {whose} AND {key} IN"
        f" (SELECT {key} FROM {name} WHERE {whose} LIMIT %s{_claim()}) RETURNING 1",
        [number, number, batch],
    )
    return len(found)


def left(number: int) -> bool:
    """Whether any such row is there still."""
    some = " OR ".join(f"EXISTS (SELECT 1 FROM {name} WHERE {whose})" for name, _, whose in TABLES)
    found = db.row(f"SELECT {some}", [number] * len(TABLES))
    return found is not None and bool(found[0])


def blank(number: int, batch: int, now: datetime) -> int:
    """Empty up to `batch` entries of chats in which there is nobody but the identity; how many."""
    found = db.rows(
        "UPDATE threads_entry SET data = '{\"parts\":[]}', metadata = NULL, search_text = NULL, message_id = NULL,"
        " content_hash = NULL, deleted_at = %s WHERE id IN (SELECT e.id FROM threads_entry e"
        " JOIN contacts_member m ON m.chat_id = e.chat_id WHERE m.identity_id = %s AND e.deleted_at IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM contacts_member o WHERE o.chat_id = m.chat_id AND o.identity_id <> %s)"
        " LIMIT %s) RETURNING 1",
        [now, number, number, batch],
    )
    return len(found)


def unname(number: int, handle: str, batch: int) -> int:
    """Take the identity's names out of up to `batch` entries that tell who came and went in its rooms; how many."""
    found = db.rows(
        "SELECT e.id, e.data FROM threads_entry e JOIN contacts_member m ON m.chat_id = e.chat_id"
        " WHERE m.identity_id = %s AND e.kind = 'event' AND e.type IN ('room.joined', 'room.left', 'room.removed')"
        " AND e.data LIKE %s AND e.data NOT LIKE %s LIMIT %s",
        [number, f'%"number":"{number}"%', f'%"handle":"{handle}"%', batch],
    )
    for id, data in found:
        said = orjson.loads(data)
        said["about"]["identity"].update(handle=handle, display_name="")
        db.rows("UPDATE threads_entry SET data = %s WHERE id = %s", [dumps(said).decode(), db.uuid(id)])
    return len(found)
