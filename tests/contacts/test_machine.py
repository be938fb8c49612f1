"""Random acts of random sides, beside a model of the rules that knows nothing of the database."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from apps.contacts import actions
from apps.contacts.models import Block, Chat, Contact, Invite, Member
from apps.core import db
from apps.core.actor import Actor
from apps.core.errors import DomainError
from apps.identities.models import Identity
from apps.inbox.actions import publish
from apps.inbox.models import InboxEvent
from apps.lifecycle import actions as lifecycle
from tests.contacts.world import person, seen, who

PEOPLE = 3
FIRST, LAST = 0, PEOPLE - 1
POLICIES = [("any", "none"), ("any", "any"), ("contacts", "none")]

one = st.integers(FIRST, LAST)
pair = st.tuples(one, one).filter(lambda both: both[0] != both[1])


class Contacts(RuleBasedStateMachine):
    """Three identities, the last two of one account."""

    def __init__(self) -> None:
        super().__init__()
        self._undo = transaction.atomic()
        self._undo.__enter__()
        self.people: list[Actor] = [person(), person()]
        self.people.append(person(beside=self.people[1]))
        self.rows: dict[tuple[int, int], str] = {}
        self.blocks: set[tuple[int, int]] = set()
        self.policy = [POLICIES[0]] * PEOPLE
        self.chats: set[frozenset[int]] = set()
        self.events = [0] * PEOPLE

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self._undo.__exit__(None, None, None)

    # The model

    def account(self, index: int) -> list[int]:
        return [0] if index == 0 else [1, 2]

    def blocked(self, me: int, other: int) -> bool:
        return any((me, one) in self.blocks for one in self.account(other))

    def set(self, me: int, other: int, state: str | None) -> None:
        if state is None:
            self.rows.pop((me, other), None)
        else:
            self.rows[me, other] = state

    def asked(self, me: int, other: int) -> str:
        """What a request does, and its answer: my state or a refusal."""
        mine = self.rows.get((me, other))
        if mine == "friend":
            return mine
        if self.blocked(me, other):
            return "blocked_by_you"
        if mine == "requested":
            return mine
        if mine == "declined":
            return "contact_declined"
        receive, accept = self.policy[other]
        unseen = self.blocked(other, me)
        if mine == "incoming" or (accept == "any" and not unseen):
            self.set(me, other, "friend")
            self.set(other, me, "friend")
            self.events[other] += 1
        elif receive == "contacts":
            return "contact_declined"
        else:
            self.set(me, other, "requested")
            if not unseen:
                self.set(other, me, "incoming")
                self.events[other] += 1
        self.chats.add(frozenset((me, other)))
        return self.rows[me, other]

    # The acts

    def does(self, call: Any, *arguments: Any) -> str | None:
        """The state an act answers with, or the code it is refused with."""
        try:
            answer = call(*arguments)
        except DomainError as error:
            return error.code.value
        return answer.state if answer is not None else None

    @initialize(policies=st.lists(st.sampled_from(POLICIES), min_size=PEOPLE, max_size=PEOPLE))
    def policies(self, policies: list[tuple[str, str]]) -> None:
        self.policy = policies
        for actor, (receive, accept) in zip(self.people, policies, strict=True):
            Identity.objects.filter(number=actor.identity).update(receive=receive, accept=accept)

    @rule(both=pair)
    def request(self, both: tuple[int, int]) -> None:
        me, other = both
        before = dict(self.rows)
        expected = self.asked(me, other)
        answer: object
        try:
            changed = actions.request(self.people[me], who(self.people[other]), "note")
            answer = (changed.contact.state, changed.created)
        except DomainError as error:
            answer = (error.code.value, before != self.rows)
        assert answer == (expected, before != self.rows)

    @rule(both=pair)
    def write(self, both: tuple[int, int]) -> None:
        me, other = both
        expected = self.asked(me, other)
        with db.write():
            door = actions.enter(self.people[me], seen(self.people[other]), "note")
            publish(door.events)
        answer = "friend" if door.refusal is None else door.refusal.code.value
        assert answer == {"requested": "contact_requested"}.get(expected, expected)

    @rule(both=pair)
    def accept(self, both: tuple[int, int]) -> None:
        me, other = both
        mine = self.rows.get(both)
        answer = self.does(actions.accept, self.people[me], who(self.people[other]))
        if mine == "incoming":
            self.set(me, other, "friend")
            self.set(other, me, "friend")
            self.events[other] += 1
        assert answer == ("friend" if mine in ("incoming", "friend") else "not_incoming")

    @rule(both=pair)
    def decline(self, both: tuple[int, int]) -> None:
        me, other = both
        mine = self.rows.get(both)
        answer = self.does(actions.decline, self.people[me], who(self.people[other]))
        if mine == "incoming":
            self.set(me, other, None)
            self.set(other, me, "declined")
            self.events[other] += 1
        assert answer == {"incoming": None, "friend": "already_friend"}.get(str(mine), "not_incoming")

    @rule(both=pair)
    def remove(self, both: tuple[int, int]) -> None:
        me, other = both
        mine = self.rows.get(both)
        answer = self.does(lifecycle.contact_remove, self.people[me], who(self.people[other]))
        if mine in ("friend", "incoming"):
            self.set(other, me, "declined")
            self.events[other] += 1
        if mine == "requested" and self.rows.get((other, me)) == "incoming":
            self.set(other, me, None)
        if mine != "declined":
            self.set(me, other, None)
        assert answer == {"declined": "contact_declined", "None": "not_found"}.get(str(mine))

    @rule(both=pair)
    def block(self, both: tuple[int, int]) -> None:
        me, other = both
        self.does(lifecycle.contact_block, self.people[me], who(self.people[other]))
        self.blocks.add(both)
        for them in self.account(other):
            mine = self.rows.get((me, them))
            if them == me or mine in (None, "declined"):
                continue
            if mine == "friend":
                self.set(them, me, "declined")
                self.events[them] += 1
            if mine == "requested" and self.rows.get((them, me)) == "incoming":
                self.set(them, me, None)
            self.set(me, them, None)

    @precondition(lambda self: self.blocks)
    @rule(both=pair)
    def unblock(self, both: tuple[int, int]) -> None:
        me, other = both
        answer = self.does(actions.unblock, self.people[me], who(self.people[other]))
        for them in self.account(other):
            self.blocks.discard((me, them))
            if self.rows.get((them, me)) == "requested" and self.rows.get((me, them)) != "incoming":
                self.set(me, them, "incoming")
                self.events[me] += 1
        assert answer == self.rows.get(both)

    # What always holds

    @invariant()
    def is_as_the_model_says(self) -> None:
        index = {actor.identity: place for place, actor in enumerate(self.people)}
        rows = {(index[row.owner_id], index[row.other_id]): row.state for row in Contact.objects.all()}
        assert rows == self.rows
        assert {(index[row.owner_id], index[row.other_id]) for row in Block.objects.all()} == self.blocks
        ends = Chat.objects.values_list("pair_low", "pair_high")
        pairs = [frozenset(index[one] for one in both if one is not None) for both in ends]
        assert len(pairs) == len(set(pairs))
        assert set(pairs) == self.chats
        assert Member.objects.count() == 2 * len(pairs)
        pending = {
            (index[row.sender_id], index[row.receiver_id]) for row in Invite.objects.filter(state="pending")
        }
        assert pending == {both for both, state in rows.items() if state == "requested"}

    @invariant()
    def both_sides_fit_together(self) -> None:
        for (me, other), mine in self.rows.items():
            theirs = self.rows.get((other, me))
            unseen = self.blocked(other, me)
            if mine in ("friend", "incoming"):
                assert theirs == {"friend": "friend", "incoming": "requested"}[mine]
                assert not self.blocked(me, other)
                assert not unseen
            elif mine == "requested":
                assert theirs == "incoming" or (unseen and theirs in (None, "declined"))
            else:
                assert theirs is None or (theirs == "requested" and self.blocked(me, other))

    @invariant()
    def each_was_told_what_concerns_it(self) -> None:
        told = [InboxEvent.objects.filter(identity=actor.identity).count() for actor in self.people]
        assert told == self.events


@pytest.mark.django_db
def test_any_order_of_acts() -> None:
    run_state_machine_as_test(
        Contacts,
        settings=settings(
            max_examples=20,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
