"""Identities put straight into the database, for tests that call actions in this process."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from apps.contacts import actions
from apps.contacts.models import Block, Chat, Contact, Invite, Member
from apps.core import ids
from apps.core.actor import SCOPES, Actor, Ref
from apps.core.errors import DomainError
from apps.identities import numbers
from apps.identities.models import Account, Identity
from apps.identities.queries import Person, find
from apps.inbox.models import InboxEvent
from apps.lifecycle import actions as lifecycle


def person(name: str = "p", beside: Actor | None = None, **fields: Any) -> Actor:
    """A new agent, in an account of its own or in that of `beside`."""
    account = Account.objects.create() if beside is None else Account.objects.get(id=beside.account)
    handle = f"{name}-{secrets.token_hex(4)}"
    identity = Identity.objects.create(
        number=numbers.draw(), account=account, kind="agent", handle=handle, display_name=name, **fields
    )
    return Actor(Ref(identity.number, handle, "agent", name), account.id, frozenset(SCOPES), ids.new())


def without(actor: Actor, scope: str) -> Actor:
    """The same caller with a narrower token."""
    return Actor(actor.ref, actor.account, actor.scopes - {scope}, actor.credential)


def who(actor: Actor) -> str:
    return str(actor.identity)


def seen(actor: Actor) -> Person:
    """The identity as others' actions get it."""
    found = find(who(actor))
    assert found is not None
    return found


def ask(actor: Actor, other: Actor, note: str = "") -> actions.Changed:
    return actions.request(actor, who(other), note)


def befriend(actor: Actor, other: Actor) -> None:
    """Make them friends, and forget how."""
    ask(actor, other)
    actions.accept(other, who(actor))
    InboxEvent.objects.all().delete()


def block(actor: Actor, other: Actor) -> None:
    lifecycle.contact_block(actor, who(other))


def remove(actor: Actor, other: Actor) -> None:
    lifecycle.contact_remove(actor, who(other))


def state(actor: Actor, other: Actor) -> str | None:
    """How the first sees the second."""
    row = Contact.objects.filter(owner=actor.identity, other=other.identity).first()
    return row.state if row else None


def states(actor: Actor, other: Actor) -> tuple[str | None, str | None]:
    """How they see each other."""
    return state(actor, other), state(other, actor)


def news(actor: Actor) -> list[tuple[str, str]]:
    """All events of an inbox as (type, subject)."""
    return list(
        InboxEvent.objects.filter(identity=actor.identity).order_by("seq").values_list("type", "subject")
    )


def chat(actor: Actor, other: Actor) -> Chat | None:
    pair = sorted([actor.identity, other.identity])
    return Chat.objects.filter(pair_low=pair[0], pair_high=pair[1]).first()


def everything() -> dict[str, list[Any]]:
    """All rows of the contacts, to see that nothing changed."""
    return {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in (Contact, Block, Chat, Member, Invite)
    } | {
        "events": list(InboxEvent.objects.order_by("identity", "seq").values_list("identity", "seq", "type"))
    }


def refusal(call: Callable[[], object]) -> DomainError:
    """What a call is refused with."""
    try:
        call()
    except DomainError as error:
        return error
    raise AssertionError("it was not refused")


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements of a block, but for those that only open and end transactions."""
    made: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK", "BEGIN", "COMMIT")):
            made.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield made


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Make calls at once, each on a thread of its own; what each returned or was refused with.

    Any exception but a refusal fails the test.
    """
    start = threading.Barrier(len(calls))
    answers: list[Any] = [None] * len(calls)

    def run(place: int, call: Callable[[], Any]) -> None:
        try:
            start.wait(10)
            answers[place] = call()
        except BaseException as error:  # handed to the test's own thread
            answers[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=one) for one in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, DomainError):
            raise answer
    return answers
