"""Acts that span contacts and threads: each one transaction and one publish."""

from __future__ import annotations

from apps.contacts import queries
from apps.contacts.actions import block_within, known, remove_within
from apps.contacts.queries import Seen
from apps.core import db
from apps.core.actor import Actor
from apps.inbox.actions import publish
from apps.threads.actions import close_between


def contact_remove(actor: Actor, who: str) -> None:
    """End the contact with `who` and what is open between us.

    A friend sees `declined` from now on, my own request is withdrawn, theirs is declined. Raises
    insufficient_scope, not_found, invalid for oneself, contact_declined when only they can reopen it.
    """
    other = known(actor, who)
    with db.write():
        events = remove_within(actor, other)
        events += close_between(actor.identity, [other.number])
        publish(events)


def contact_block(actor: Actor, who: str) -> Seen:
    """Block every identity of `who`'s account and end what is open with them; again changes nothing.

    Raises insufficient_scope, not_found, invalid for oneself.
    """
    other = known(actor, who)
    with db.write():
        events, friends = block_within(actor, other)
        events += close_between(actor.identity, friends)
        publish(events)
    return queries.contact(actor.identity, other)
