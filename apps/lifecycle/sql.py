"""Retention's statements, batches that two processes may work on at once; and who may be reported."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from apps.core import db


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


def _delete(rest: str, params: list[object]) -> int:
    with db.write():
        return len(db.rows(f"DELETE FROM {rest} RETURNING 1", params))
