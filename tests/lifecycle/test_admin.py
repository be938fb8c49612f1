"""The operators' queue, over HTTP."""

from __future__ import annotations

import re
from uuid import UUID

from tests.chats.test_messages import post, texts
from tests.harness.cast import Cast, Person
from tests.harness.service import Service, Starter
from tests.lifecycle.operator import EMAIL, Operator, create
from tests.lifecycle.world import rows


def reported(reporter: Person, **fields: str) -> str:
    """A new report; its key in the admin."""
    made = reporter.call("POST", "/v1/reports", {"reason": "abuse", **fields}, status=201)
    return str(UUID(made["id"].removeprefix("rep_")))


def test_only_operators_come_in(desk: Service) -> None:
    stranger = Operator(desk)
    assert stranger.http.get("/admin").headers["location"] == "/admin/"
    answer = stranger.http.get("/admin/lifecycle/report/")
    assert (answer.status_code, answer.headers["location"]) == (
        302,
        "/admin/login/?next=/admin/lifecycle/report/",
    )
    wrong = stranger.sign_in(password="wrong")
    assert wrong.status_code == 200
    assert "Please enter the correct email and password" in wrong.text
    assert stranger.http.get("/admin/").status_code == 302


def test_the_pages_come_with_their_assets_and_a_strict_policy(desk: Service, operator: Operator) -> None:
    for path in ("/admin/", "/admin/lifecycle/report/", "/admin/identities/identity/"):
        answer = operator.http.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert "no-store" in answer.headers["cache-control"]
        # Nothing on the page that the policy would refuse.
        assert not re.search(
            r"<script(?![^>]*(src=|application/json))|<style|\sstyle=|\son[a-z]+=", answer.text
        )
        assets = re.findall(r'(?:src|href)="(/static/[^"]+|/admin/jsi18n/)"', answer.text)
        assert assets
        for asset in assets:
            assert operator.http.get(asset).status_code == 200, asset
    part = operator.http.get("/static/admin/css/base.css", headers={"Range": "bytes=0-9"})
    assert (part.status_code, len(part.content)) == (206, 10)
    assert operator.http.head("/static/admin/css/base.css").headers["content-length"] != "0"
    assert "Warning" not in desk.log()


def test_who_is_reported_is_suspended_and_let_in_again(people: Cast, operator: Operator) -> None:
    alice, bob = people.friends
    report = reported(alice, about=bob.number, text="<b>Bad</b>")
    listed = operator.http.get("/admin/lifecycle/report/").text
    assert f"@{bob.handle}" in listed
    shown = operator.http.get(f"/admin/lifecycle/report/{report}/change/").text
    assert "&lt;b&gt;Bad&lt;/b&gt;" in shown
    assert "A reason has 1 to 500" in operator.act("lifecycle/report", "suspend", [report])
    told = operator.act("lifecycle/report", "suspend", [report], reason="Be kind", days="2")
    assert told == "Suspended: 1"
    answer = bob.get("/v1/me")
    assert (answer.status_code, answer.json()["error"]["reason"]) == (403, "Be kind")
    assert answer.json()["error"]["until"]
    operator.act("lifecycle/report", "lift", [report])
    log = [(note["action"], note["detail"]) for note in bob.call("GET", "/v1/me/audit")["items"]]
    assert log[0] == ("suspension.lifted", {"by": "operator"})
    assert log[1][0] == "suspended"
    assert EMAIL not in str(log)
    done = operator.page("/admin/admin/logentry/")
    assert EMAIL in done
    assert "Suspended" in done


def test_a_message_is_hidden_and_shown_again(people: Cast, operator: Operator) -> None:
    alice, bob = people.friends
    message = post(bob, alice.number, "Something vile")
    report = reported(alice, message=message["id"])
    assert operator.act("lifecycle/report", "hide", [report]) == "Hidden: 1"
    assert "Something vile" not in texts(alice, message["chat"])
    shown = operator.page(f"/admin/lifecycle/report/{report}/change/")
    assert "Something vile" in shown, "operators still see what they decided on"
    operator.act("lifecycle/report", "show", [report])
    assert "Something vile" in texts(alice, message["chat"])
    about = reported(alice, about=bob.number)
    operator.act("lifecycle/report", "hide", [about])


def test_a_report_is_noted_and_closed(people: Cast, operator: Operator) -> None:
    alice, bob = people.friends
    reports = [reported(alice, about=bob.number), reported(bob, about=alice.number)]
    operator.act("lifecycle/report", "add_note", reports, note="Looked at it")
    assert operator.act("lifecycle/report", "close", reports, note="Nothing to do") == "Closed: 2"
    shown = operator.page(f"/admin/lifecycle/report/{reports[0]}/change/")
    assert shown.index("Looked at it") < shown.index("Nothing to do")
    open_ones = operator.page("/admin/lifecycle/report/", state__exact="open")
    assert f"@{bob.handle}" not in open_ones


def test_an_identity_is_found_and_suspended(people: Cast, operator: Operator) -> None:
    ada = people.ada
    found = operator.page("/admin/identities/identity/", q=ada.handle)
    assert ada.number in found
    assert people.service.http.get(f"/v1/identities/{ada.number}").status_code == 200
    operator.act("identities/identity", "suspend", [ada.number], reason="Spam")
    assert people.service.http.get(f"/v1/identities/{ada.number}").status_code == 404
    assert people.service.http.get("/v1/directory", params={"q": ada.handle}).json()["items"] == []
    operator.act("identities/identity", "lift", [ada.number])
    assert people.service.http.get(f"/v1/identities/{ada.number}").status_code == 200


def test_nothing_is_edited_and_no_secret_shown(people: Cast, operator: Operator) -> None:
    alice, bob = people.friends
    report = reported(alice, about=bob.number)
    for path in (f"lifecycle/report/{report}", f"identities/identity/{alice.number}"):
        shown = operator.page(f"/admin/{path}/change/")
        assert not re.search(r'<(input|select|textarea)[^>]*name="(?!csrfmiddlewaretoken)', shown)
        for secret in rows(people.service, "SELECT hash FROM identities_credential"):
            assert bytes(secret[0]).hex() not in shown
        assert operator.http.get(f"/admin/{path}/delete/").status_code == 403
    assert operator.http.get("/admin/lifecycle/report/add/").status_code == 403
    for model in ("identities/credential", "identities/user", "inbox/webhook", "threads/entry", "auth/group"):
        assert operator.http.get(f"/admin/{model}/").status_code == 404


def test_the_queue_costs_the_same_however_long(people: Cast, desk: Service, operator: Operator) -> None:
    alice, bob = people.friends

    def cost() -> int:
        with desk.counting() as made:
            operator.page("/admin/lifecycle/report/")
        return len(made)

    for _ in range(2):
        reported(alice, about=bob.number)
    before = cost()
    for _ in range(6):
        reported(people.register("r"), about=people.ada.number)
    assert cost() == before


def test_an_operator_without_permission_only_looks(people: Cast, desk: Service) -> None:
    alice, bob = people.friends
    report = reported(alice, about=bob.number)
    create(desk, "guest@example.org")
    true = "TRUE" if desk.setup == "deployment" else "1"
    false = "FALSE" if desk.setup == "deployment" else "0"
    where = f"WHERE email = 'guest@example.org' AND is_staff = {true}"
    rows(desk, f"UPDATE identities_user SET is_superuser = {false} {where}")
    guest = Operator(desk)
    assert guest.sign_in("guest@example.org").status_code == 302
    assert guest.http.get("/admin/lifecycle/report/").status_code == 403
    assert guest.http.get(f"/admin/lifecycle/report/{report}/change/").status_code == 403


def test_an_address_tries_only_so_often(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_RATE_LOGIN="3/h")
    create(service)
    operator = Operator(service)
    statuses = [operator.sign_in(password="guess").status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    answer = operator.sign_in()
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0


def test_the_identity_of_who_signs_in_has_it_in_its_log(people: Cast, desk: Service) -> None:
    alice = people.register("alice", kind="human")
    create(desk, "alice@example.org")
    user = "(SELECT id FROM identities_user WHERE email = 'alice@example.org')"
    rows(desk, f"UPDATE identities_identity SET user_id = {user} WHERE number = {alice.number}")
    assert Operator(desk).sign_in("alice@example.org").status_code == 302
    note = alice.call("GET", "/v1/me/audit")["items"][0]
    assert (note["action"], note["address"], note["credential"]) == ("signed_in", "127.0.0.1", None)


def test_cookies_are_for_https_alone_in_a_deployment(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_ORIGIN="https://relayger.example", RELAYGER_TRUSTED_PROXIES="1")
    create(service)
    headers = {"Host": "relayger.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.5"}
    form = service.http.get("/admin/login/", headers=headers)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
    assert token is not None
    cookie = form.headers["set-cookie"]
    assert "Secure" in cookie
    answer = service.http.post(
        "/admin/login/?next=/admin/",
        headers={
            **headers,
            "Origin": "https://relayger.example",
            "Referer": "https://relayger.example/admin/login/",
            "Cookie": cookie.split(";")[0],
        },
        data={"csrfmiddlewaretoken": token[1], "username": EMAIL, "password": "correct horse battery"},
    )
    assert answer.status_code == 302, answer.text
    session = next(one for one in answer.headers.get_list("set-cookie") if one.startswith("sessionid="))
    assert "Secure" in session
    assert "HttpOnly" in session
    assert "SameSite=Lax" in session
    assert "max-age" in answer.headers["strict-transport-security"]
