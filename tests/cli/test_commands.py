"""The commands against a running service: two people, each with a shell."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relayger.cli import config
from relayger.cli.exits import Exit
from tests.cli.run import Relayger, sign_in, start
from tests.harness.cast import Cast, Person
from tests.harness.service import Service
from tests.harness.wait import until


@contextmanager
def replying(person: Person, text: str, state: str | None = None) -> Iterator[None]:
    """Meanwhile, the person answers the next question by hand."""

    def answer() -> None:
        after = person.inbox()["next"]
        while True:
            page = person.inbox(after, wait=10, types="thread.opened")
            after = page["next"]
            for event in page["events"]:
                person.reply(event["object"]["thread"]["id"], text, **({"state": state} if state else {}))
                return

    person.inbox()
    thread = threading.Thread(target=answer)
    thread.start()
    yield
    thread.join(20)
    assert not thread.is_alive()


@pytest.fixture
def alice(cast: Cast) -> Person:
    """Signed in as `default`, and Bob, her friend, as `bob`."""
    alice, bob = cast.friends
    sign_in(alice)
    sign_in(bob, "bob")
    return alice


# -- register and whoami ------------------------------------------------------------------------------------


def test_register_keeps_the_token_and_does_not_show_it(server: Service, relayger: Relayger) -> None:
    run = relayger(
        "register", f"{server.origin}/", "--name", "Robo", "--skill", "Sums", "--skill", "Products"
    )
    kept = config.load("default")
    assert kept is not None
    assert kept.origin == server.origin
    assert kept.number in run.out
    assert str(config.profile_path("default")) in run.out
    assert kept.token not in run.out + run.err
    me = relayger("whoami", "--json").json
    assert me["number"] == kept.number
    assert me["display_name"] == "Robo"
    assert [skill["name"] for skill in me["skills"]] == ["Sums", "Products"]
    shown = relayger("whoami").out
    assert kept.handle in shown
    assert "Sums, Products" in shown


def test_register_as_json_shows_no_token(server: Service, relayger: Relayger) -> None:
    made = relayger("register", server.origin, "--json", "--kind", "human", "--profile", "me").json
    assert made["token"] is None
    assert made["identity"]["kind"] == "human"
    assert Path(made["kept_in"]) == config.profile_path("me")


def test_a_profile_is_never_overwritten(alice: Person, relayger: Relayger) -> None:
    before = config.load("default")
    run = relayger("register", alice.service.origin, code=Exit.USAGE)
    assert "--profile" in run.err
    assert config.load("default") == before


def test_a_token_that_could_not_be_kept_is_not_asked_for(
    home: Path, server: Service, relayger: Relayger
) -> None:
    home.mkdir()
    (home / "profiles").write_text("in the way")
    assert "Cannot" in relayger("register", server.origin, code=Exit.USAGE).err


def test_a_taken_handle_comes_with_free_ones(alice: Person, relayger: Relayger) -> None:
    run = relayger(
        "register", alice.service.origin, "--handle", f"@{alice.handle}", "--profile", "new", code=4
    )
    assert "handle_taken" in run.err
    assert "Free: " in run.err
    assert config.load("new") is None


def test_the_profile_may_be_named_before_or_after_the_command(alice: Person, relayger: Relayger) -> None:
    before = relayger("--profile", "bob", "whoami").out
    assert before == relayger("whoami", "--profile", "bob").out
    assert alice.handle not in before
    assert alice.handle in relayger("whoami").out


def test_a_revoked_token_is_not_signed_in(
    alice: Person, relayger: Relayger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELAYGER_TOKEN", "rgt_wrong")
    relayger("whoami", code=Exit.NOT_SIGNED_IN)


# -- contacts -----------------------------------------------------------------------------------------------


def test_two_become_contacts_and_part(cast: Cast, relayger: Relayger) -> None:
    alice, bob = cast.alice, cast.bob
    sign_in(alice)
    sign_in(bob, "bob")

    def state(profile: str = "default") -> list[str]:
        return [line.split("\t")[2] for line in relayger("contacts", "--profile", profile).out.splitlines()]

    assert "No contacts yet" in relayger("contacts").err
    assert bob.handle in relayger("contacts", "add", f"@{bob.handle}", "--note", "It is me").out
    assert state() == ["requested"]
    assert state("bob") == ["incoming"]
    assert "It is me" in relayger("contacts", "list", "--state", "incoming", "--profile", "bob").out
    relayger("contacts", "accept", alice.number, "--profile", "bob")
    assert state() == state("bob") == ["friend"]
    assert relayger("contacts", "remove", bob.number).out == "Removed.\n"
    assert alice.contact(bob) != "friend"
    relayger("contacts", "accept", "nobody-at-all", code=Exit.NOT_FOUND)


def test_decline_block_and_unblock(cast: Cast, relayger: Relayger) -> None:
    alice, bob = cast.alice, cast.bob
    sign_in(bob)
    alice.call("POST", "/v1/contacts", {"to": bob.number})
    assert "Declined." in relayger("contacts", "decline", alice.number).out
    assert alice.contact(bob) == "declined"
    relayger("contacts", "accept", alice.number, code=Exit.REFUSED)
    assert "Blocked." in relayger("contacts", "block", alice.handle).out
    relayger("ask", alice.handle, "Hello?", code=Exit.REFUSED)
    assert "No longer blocked." in relayger("contacts", "unblock", alice.handle).out


# -- asking and answering -----------------------------------------------------------------------------------


def test_ask_waits_for_the_answer_and_prints_nothing_else(
    alice: Person, cast: Cast, relayger: Relayger
) -> None:
    with replying(cast.bob, "It is \x1b[31m42\n[red]!"):
        run = relayger("ask", f"@{cast.bob.handle}", "What is it?")
    assert run.out == "It is \\x1b[31m42\n[red]!\n"
    assert run.err == ""


def test_ask_as_json_is_the_thread_with_what_came(alice: Person, cast: Cast, relayger: Relayger) -> None:
    with replying(cast.bob, "42"):
        page = relayger("ask", cast.bob.number, "-", "--json", "--context", "sums", stdin="6 × 7?\n").json
    assert page["state"] == "answered"
    assert page["context"] == "sums"
    assert [message["text"] for message in page["messages"]] == ["42"]
    assert alice.thread(page["id"])["messages"][0]["text"] == "6 × 7?"


def test_the_agent_of_the_service_answers_a_newcomer(server: Service, relayger: Relayger) -> None:
    relayger("register", server.origin)
    run = relayger("ask", "@relayger", "How do leases work?", "--wait", "30")
    assert "not your contact yet" in run.err
    assert "lease" in run.out
    assert f"{server.origin}/docs/" in run.out


def test_somebody_who_does_not_accept_is_a_refusal(cast: Cast, relayger: Relayger) -> None:
    sign_in(cast.alice)
    run = relayger("ask", cast.bob.number, "Hello?", "--wait", "1", code=Exit.REFUSED)
    assert "contact_requested" in run.err
    relayger("ask", cast.bob.number, "Hello?", "--wait", "0", code=Exit.REFUSED)


def test_no_answer_yet_names_the_thread(alice: Person, cast: Cast, relayger: Relayger) -> None:
    run = relayger("ask", cast.bob.handle, "Hello?", "--wait", "1", code=Exit.NO_ANSWER_YET)
    assert run.out == ""
    assert "relayger thread thr_" in run.err


def test_a_failed_question_shows_why(alice: Person, cast: Cast, relayger: Relayger) -> None:
    with replying(cast.bob, "Too hard.", "failed"):
        run = relayger("ask", cast.bob.handle, "P = NP?", code=Exit.OTHER)
    assert run.out == "Too hard.\n"
    assert "failed" in run.err


def test_both_sides_by_hand(alice: Person, cast: Cast, relayger: Relayger) -> None:
    thread = relayger("ask", cast.bob.handle, "Book it?", "--wait", "0").out.strip()
    inbox = relayger("inbox", "--profile", "bob")
    assert f"thread.opened  {thread} open @{alice.handle}: Book it?" in inbox.out
    relayger("reply", thread, "For when?", "--state", "input_required", "--profile", "bob")
    assert "is working" in relayger("reply", thread, "Today.").out
    assert "is answered" in relayger("reply", thread, "-", "--profile", "bob", stdin="Done:\nyes.\n").out
    shown = relayger("thread", thread).out
    assert shown.startswith(f"{thread}: answered; @{alice.handle} asked @{cast.bob.handle}\n")
    assert "[input_required]\n  For when?\n" in shown
    assert "  Done:\n  yes.\n" in shown
    relayger("reply", thread, "Too late.", code=Exit.REFUSED)
    row = relayger("threads", "--role", "asker").out.splitlines()[0].split("\t")
    assert row[:4] == [thread, "answered", "asker", f"@{cast.bob.handle}"]
    assert relayger("threads", "--role", "assignee", "--json").json["items"] == []


def test_a_thread_nobody_may_see_is_not_found(alice: Person, cast: Cast, relayger: Relayger) -> None:
    thread = alice.ask(cast.bob)["id"]
    sign_in(cast.charlie, "charlie")
    relayger("thread", thread, "--profile", "charlie", code=Exit.NOT_FOUND)
    relayger("reply", thread, "Me too.", "--profile", "charlie", code=Exit.NOT_FOUND)


def test_a_question_within_a_question_names_its_parent(
    alice: Person, cast: Cast, relayger: Relayger, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = alice.ask(cast.bob)["id"]
    monkeypatch.setenv("RELAYGER_THREAD", above)
    below = relayger("ask", alice.handle, "And you?", "--wait", "0", "--json", "--profile", "bob").json
    assert below["thread"]["parent"] == above
    assert below["thread"]["hops"] == 1


# -- the inbox ----------------------------------------------------------------------------------------------


def test_the_inbox_remembers_where_it_was(alice: Person, cast: Cast, relayger: Relayger) -> None:
    assert "contact.requested" in relayger("inbox", "--profile", "bob").out
    assert "Nothing new" in relayger("inbox", "--profile", "bob").err
    alice.ask(cast.bob, "One?")
    assert "One?" in relayger("inbox", "--profile", "bob", "--wait", "25").out
    again = relayger("inbox", "--profile", "bob", "--after", "0", "--json").json
    assert [event["type"] for event in again["events"]][-1] == "thread.opened"
    assert relayger("inbox", "--profile", "bob", "--json").json["events"] == []


def test_a_place_the_service_no_longer_knows_is_given_up(
    alice: Person, cast: Cast, relayger: Relayger
) -> None:
    relayger("inbox", "--profile", "bob")
    kept = next((config.folder() / "state").glob("bob.inbox.json"))
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "seq": 10**9}))
    run = relayger("inbox", "--profile", "bob")
    assert "contact.requested" in run.out
    assert "no longer kept" in run.err
    assert "after" in relayger("inbox", "--profile", "bob", "--after", "1000000000", code=Exit.USAGE).err


def test_following_the_inbox_until_interrupted(alice: Person, cast: Cast, tmp_path: Path) -> None:
    log = tmp_path / "log"
    follower = start("inbox", "--follow", "--json", "--profile", "bob", log=log)
    try:
        until(lambda: "contact.requested" in log.read_text(), 20)
        alice.ask(cast.bob, "Are you there?")
        until(lambda: "Are you there?" in log.read_text(), 20)
        follower.send_signal(signal.SIGINT)
        assert follower.wait(10) == Exit.FINE
    finally:
        follower.kill()
        follower.wait()
    pages = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["type"] for page in pages for event in page["events"]] == [
        "contact.requested",
        "thread.opened",
    ]
