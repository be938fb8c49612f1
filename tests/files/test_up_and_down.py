"""A file on its way up, inside JSON and as a form, and down again."""

from __future__ import annotations

import gzip
import os
from typing import Any

import pytest

from tests.chats.test_rooms import bring, room
from tests.files.world import b64, download, put, sha256, upload
from tests.harness.cast import Cast, Person


def test_inside_json(cast: Cast) -> None:
    alice, bob = cast.friends
    content = os.urandom(3000)
    body = {"name": "photo.png", "content": b64(content)}
    file = alice.call("POST", f"/v1/chats/{bob.number}/files", body, status=201)["file"]
    assert file["owner"]["number"] == alice.number
    assert (file["name"], file["media_type"], file["size"]) == ("photo.png", "image/png", 3000)
    assert (file["sha256"], file["version"]) == (sha256(content), 1)
    assert file["content_url"] == f"{cast.service.origin}/v1/files/{file['id']}/content?version=1"

    got = bob.get(file["content_url"])
    assert (got.status_code, got.content) == (200, content)
    assert got.headers["content-type"] == "image/png"
    assert got.headers["content-disposition"] == 'attachment; filename="photo.png"'
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["content-security-policy"].startswith("sandbox")
    assert got.headers["etag"] == f'"{sha256(content)}"'
    assert got.headers["content-length"] == "3000"
    assert got.headers["cache-control"] == "private, no-cache"
    again = bob.get(file["content_url"], headers={"If-None-Match": got.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = bob.http.head(file["content_url"])
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "3000")
    assert head.headers["content-disposition"] == got.headers["content-disposition"]


def test_as_a_form(cast: Cast) -> None:
    alice, bob = cast.friends
    content = os.urandom(5 << 20)
    response = upload(alice, bob.number, content, "big.bin", "application/x-thing; v=1")
    assert response.status_code == 201
    file = response.json()["file"]
    assert (file["size"], file["sha256"]) == (5 << 20, sha256(content))
    assert file["media_type"] == "application/x-thing"
    assert download(bob, file["id"]).content == content
    said = {"name": "better.pdf", "media_type": "application/pdf"}
    named = upload(alice, bob.number, b"", "x", data=said).json()["file"]
    assert (named["name"], named["media_type"], named["size"]) == ("better.pdf", "application/pdf", 0)
    assert download(bob, named["id"]).content == b""


def test_what_is_in_it_is_kept_to_the_byte(cast: Cast) -> None:
    alice, bob = cast.friends
    lines = b"\r\nUpgrade: h2c\r\nupgrade: websocket\nUPGRADE:\n\nupgrade" * 4000
    for content in (lines, gzip.compress(lines), bytes(range(256)) * 100, b"\r\n--x\r\n", b"\r\n"):
        file = upload(alice, bob.number, content, "a.gz").json()["file"]
        assert file["sha256"] == sha256(content)
        got = download(bob, file["id"])
        assert got.content == content
        assert "content-encoding" not in got.headers


@pytest.mark.parametrize(
    "media_type",
    [
        *["text/html", "TEXT/HTML", "image/svg+xml", "application/xhtml+xml", "text/javascript"],
        *[
            "application/xml",
            "multipart/related",
            "message/rfc822",
            "application/atom+xml",
            "application/xml-dtd",
        ],
    ],
)
def test_nothing_that_a_browser_runs_is_called_so(cast: Cast, media_type: str) -> None:
    alice, bob = cast.friends
    file = put(alice, bob.number, b"<script>alert(1)</script>", "page.html", media_type=media_type)
    assert file["media_type"] == media_type.lower()
    got = download(bob, file["id"])
    assert got.headers["content-type"] == "application/octet-stream"
    assert got.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    "media_type",
    ["text", "text/", "/plain", "text/plain; charset=utf-8", "a/b\r\nX-Evil: 1", "image/*", "a/" + "b" * 130],
)
def test_a_media_type_is_one(cast: Cast, media_type: str) -> None:
    alice, bob = cast.friends
    body = {"name": "a", "content": "", "media_type": media_type}
    response = alice.post(f"/v1/chats/{bob.number}/files", json=body)
    assert (response.status_code, response.json()["error"]["field"]) == (400, "media_type")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Übersicht 2026.txt", "attachment; filename*=utf-8''%C3%9Cbersicht%202026.txt"),
        ('a "quoted" one.txt', 'attachment; filename="a \\"quoted\\" one.txt"'),
        ("\U0001f600.png", "attachment; filename*=utf-8''%F0%9F%98%80.png"),
        (".profile", 'attachment; filename=".profile"'),
        ("a;b=c.txt", 'attachment; filename="a;b=c.txt"'),
        ("n" * 255, f'attachment; filename="{"n" * 255}"'),
    ],
)
def test_names(cast: Cast, name: str, shown: str) -> None:
    alice, bob = cast.friends
    made = put(alice, bob.number, name=name), upload(alice, bob.number, data={"name": name}).json()["file"]
    for file in made:
        assert file["name"] == name
        assert download(bob, file["id"]).headers["content-disposition"] == shown


BAD_NAMES = [
    "",
    " ",
    ".",
    "..",
    "a/b",
    "../a",
    "a\\b",
    "a\nb",
    "a\x07b",
    "a\u202eb",
    "a\u200bb",
    "n" * 256,
    "a\x7f",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_are_none(cast: Cast, name: str) -> None:
    alice, bob = cast.friends
    response = alice.post(f"/v1/chats/{bob.number}/files", json={"name": name, "content": ""})
    assert (response.status_code, response.json()["error"]["field"]) == (400, "name")
    form = alice.post(f"/v1/chats/{bob.number}/files", files={"file": ("x", b"")}, data={"name": name})
    assert (form.status_code, form.json()["error"]["field"]) == (400, "name")


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        (b"../../etc/passwd", "passwd"),
        (b"C:\\temp\\a.txt", "a.txt"),
        ("ж.txt".encode(), "ж.txt"),
        (b"a&amp;b", "a&amp;b"),
    ],
)
def test_a_form_names_its_file_without_folders(cast: Cast, sent: bytes, name: str) -> None:
    alice, bob = cast.friends
    response = form(
        alice, bob.number, part(b'name="file"; filename="' + sent.replace(b"\\", b"\\\\") + b'"', b"x")
    )
    assert response.json()["file"]["name"] == name


def part(disposition: bytes, content: bytes, *headers: bytes) -> bytes:
    lines = [b"--b", b"Content-Disposition: form-data; " + disposition, *headers, b"", content, b""]
    return b"\r\n".join(lines)


def form(person: Person, chat: str, *parts: bytes, end: bytes = b"--b--\r\n", boundary: str = "b") -> Any:
    return person.post(
        f"/v1/chats/{chat}/files",
        content=b"".join(parts) + end,
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
    )


FILE = part(b'name="file"; filename="a.txt"', b"x")


@pytest.mark.parametrize(
    ("parts", "end", "field"),
    [
        ([], b"", "file"),
        ([], b"--b--\r\n", "file"),
        ([FILE], b"", "file"),  # it breaks off
        ([FILE, FILE], b"--b--\r\n", "file"),
        ([part(b'name="file"', b"x")], b"--b--\r\n", "file"),  # a text
        ([part(b'name="other"; filename="a"', b"x")], b"--b--\r\n", "other"),
        ([FILE, part(b'name="extra"', b"x")], b"--b--\r\n", "extra"),
        ([FILE, part(b'name="client_id"', b"x"), part(b'name="client_id"', b"x")], b"--b--\r\n", "client_id"),
        ([part(b'name="file"; filename="a\x01.txt"', b"x")], b"--b--\r\n", "name"),
        ([part(b'name="file"; filename="a/"', b"x")], b"--b--\r\n", "name"),
        ([part(b'name="file"; filename="a"', b"x", b"Content-Type: nonsense")], b"--b--\r\n", "media_type"),
        ([FILE, part(b'name="name"', b"\xff\x00")], b"--b--\r\n", "name"),
        (
            [part(b'name="file"; filename="a"', b"!!", b"Content-Transfer-Encoding: base64")],
            b"--b--\r\n",
            None,
        ),
    ],
)
def test_forms_that_are_none(cast: Cast, parts: list[bytes], end: bytes, field: str | None) -> None:
    alice, bob = cast.friends
    response = form(alice, bob.number, *parts, end=end)
    assert (response.status_code, response.json()["error"]["field"]) == (400, field), response.text


@pytest.mark.parametrize("boundary", ["", '""', "x" * 300, "ä".encode().decode("latin-1")])
def test_boundaries_that_are_none(cast: Cast, boundary: str) -> None:
    alice, bob = cast.friends
    response = alice.post(
        f"/v1/chats/{bob.number}/files",
        content=FILE,
        headers=[(b"Content-Type", b"multipart/form-data; boundary=" + boundary.encode("latin-1"))],
    )
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid")


@pytest.mark.parametrize("content", ["!", "YQ", "YQ==\n", "Y Q=", "YQ=", "ÿ", "YQ==YQ=="])
def test_base64_rubbish(cast: Cast, content: str) -> None:
    alice, bob = cast.friends
    response = alice.post(f"/v1/chats/{bob.number}/files", json={"name": "a", "content": content})
    assert (response.status_code, response.json()["error"]["field"]) == (400, "content")


def test_other_bodies(cast: Cast) -> None:
    alice, bob = cast.friends
    path = f"/v1/chats/{bob.number}/files"
    assert alice.post(path, content=b"x").status_code == 415
    assert alice.post(path, content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
    assert alice.refused("POST", path, {"name": "a"}) == "invalid"
    assert alice.refused("POST", path, {"content": ""}) == "invalid"
    assert alice.refused("POST", path, {"name": "a", "content": "", "x": 1}) == "invalid"
    assert alice.refused("POST", path, []) == "invalid"
    body = gzip.compress(b'{"name":"a","content":""}')
    coded = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert alice.post(path, content=body, headers=coded).status_code == 415
    assert alice.http.put(path).status_code == 405
    file = put(alice, bob.number)
    assert alice.post(f"/v1/files/{file['id']}/content").status_code == 405
    assert download(alice, file["id"], version="x").status_code == 400
    assert download(alice, file["id"], other="x").status_code == 400
    assert download(alice, file["id"], version="2").status_code == 404


def test_listed_page_by_page(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    id = room(alice)
    bring(alice, id, bob)
    made = [put(alice, id, name=f"{n}.txt")["id"] for n in range(5)]
    found: list[str] = []
    cursor = None
    while True:
        page = bob.call("GET", f"/v1/chats/{id}/files", limit=2, **({"cursor": cursor} if cursor else {}))
        found += [item["id"] for item in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
        assert alice.refused("GET", f"/v1/chats/{id}/files", cursor=cursor) == "invalid"
    assert sorted(found) == sorted(made)
    assert bob.refused("GET", f"/v1/chats/{id}/files", cursor="x") == "invalid"


def test_a_stranger_is_asked_first(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    path = f"/v1/chats/{bob.number}/files"
    body = {"name": "plan.txt", "content": ""}
    assert alice.refused("POST", path, body) == "not_found"
    alice.call("POST", "/v1/contacts", {"to": bob.number})
    assert alice.refused("POST", path, body) == "contact_requested"
    bob.call("POST", f"/v1/contacts/{alice.number}/accept")
    assert put(alice, bob.number)["owner"]["number"] == alice.number


def test_scopes_and_tokens(cast: Cast) -> None:
    alice, bob = cast.friends
    file = put(alice, bob.number)
    token = alice.call("POST", "/v1/tokens", {"name": "t", "scopes": ["messages:read", "messages:write"]})
    headers = {"Authorization": f"Bearer {token['token']}"}
    http = cast.service.http
    for method, path in (
        ("POST", f"/v1/chats/{bob.number}/files"),
        ("GET", f"/v1/chats/{bob.number}/files"),
        ("GET", f"/v1/files/{file['id']}"),
        ("PATCH", f"/v1/files/{file['id']}"),
        ("DELETE", f"/v1/files/{file['id']}"),
        ("GET", f"/v1/files/{file['id']}/content"),
    ):
        response = http.request(method, path, headers=headers)
        assert (response.status_code, response.json()["error"]["code"]) == (403, "insufficient_scope"), path
        assert http.request(method, path).status_code == 401
