"""docs/webhooks.md does what it says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.harness.cast import Cast
from tests.harness.pages import block, run
from tests.webhooks.receiver import Receiver
from tests.webhooks.world import make

PAGE = "docs/webhooks.md"


@pytest.mark.parametrize("needle", ["import Webhook", "import hmac"])
def test_a_newcomer_verifies_a_ping(people: Cast, receiver: Receiver, needle: str) -> None:
    page: dict[str, Any] = {}
    exec(block(PAGE, "python", needle), page)
    bob = people.bob
    hook = make(bob, receiver.url)
    bob.call("POST", f"/v1/webhooks/{hook['id']}/test")
    (ping,) = receiver.wait(1)
    assert page["verify"](hook["secret"], ping.headers, ping.body) == ping.json
    for headers, body in (
        (ping.headers, ping.body.replace(b"test", b"inbox")),
        ({**ping.headers, "webhook-id": "dlv_other"}, ping.body),
        ({**ping.headers, "webhook-timestamp": "1"}, ping.body),
    ):
        with pytest.raises(Exception, match=r"signature|signed|old"):
            page["verify"](hook["secret"], headers, body)


def test_the_line_makes_a_webhook(people: Cast, receiver: Receiver) -> None:
    bob = people.bob
    line = block(PAGE, "sh", "/v1/webhooks").replace("https://agent.example/relayger", receiver.url)
    made = json.loads(run(people.service, "sh", line, RELAYGER_TOKEN=bob.token))
    assert made["secret"].startswith("whsec_")
    assert bob.call("GET", f"/v1/webhooks/{made['id']}")["name"] == "laptop"
