"""A process that is killed while it sends: the ping comes again with the same id, and once it is taken, no more."""

from __future__ import annotations

import pytest

from tests.harness.cast import Cast
from tests.harness.service import Starter
from tests.webhooks.conftest import LOCAL, sending
from tests.webhooks.receiver import HANG, receiving
from tests.webhooks.world import make, settled, tell

pytestmark = pytest.mark.faults


def test_kill_in_the_middle_of_a_try(fresh_server: Starter) -> None:
    service = sending(fresh_server(jobs=True, **LOCAL))
    alice, bob = Cast(service).friends
    with receiving(lambda before: HANG if before == 1 else 200) as receiver:
        hook = make(bob, receiver.url)
        seqs = tell(bob, alice, 3)
        receiver.wait(2)
        service.stop_workers()
        service.kill()
        service.restart()
        receiver.wait(4, 60)
        pings = settled(bob, hook, 3)
        (later,) = tell(bob, alice)
        receiver.wait(5)
        assert [ping.seq for ping in receiver.pings] == [seqs[0], seqs[1], *seqs[1:], later]
        assert receiver.pings[1].id == receiver.pings[2].id
        assert len({ping.id for ping in receiver.pings}) == 4
        assert [one["attempts"] for one in pings] == [1, 2, 1]
        assert all(ping.verify(hook["secret"]) for ping in receiver.pings)


def test_what_waited_while_the_service_was_down_goes_out(fresh_server: Starter) -> None:
    service = sending(fresh_server(jobs=True, **LOCAL))
    alice, bob = Cast(service).friends
    with receiving(lambda before: 500 if before == 0 else 200) as receiver:
        make(bob, receiver.url)
        (seq,) = tell(bob, alice)
        receiver.wait(1)
        service.stop_workers()
        service.kill()
        service.restart()
        assert [ping.seq for ping in receiver.wait(2, 60)] == [seq, seq]
