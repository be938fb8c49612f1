"""Clients of a running service that stay: an event stream and a socket, read with a bound on every wait."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, Queue
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.harness.cast import Person
from tests.harness.service import Service

SOON = 5.0  # far less than any heartbeat or sweep of the service that is asked
WITHIN = 1.0  # what access may last after the commit that ends it, on top of what the machine needs

Frame = dict[str, Any]


class Stream:
    """An open event stream; what arrives is kept in order."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines: Queue[str | None] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for line in self.answer.iter_lines():
                self._lines.put(line)
        except httpx.HTTPError:
            pass
        self._lines.put(None)

    def block(self, seconds: float = SOON) -> dict[str, str] | None:
        """The next block of lines as fields (a comment's is ""); None at the end. Fails when none comes."""
        fields: dict[str, str] = {}
        while line := self._line(seconds):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        return fields or None

    def _line(self, seconds: float) -> str | None:
        try:
            return self._lines.get(timeout=seconds)
        except Empty:
            raise AssertionError(f"the stream was silent for {seconds} s") from None

    def event(self, seconds: float = SOON) -> dict[str, Any]:
        """The next block with data, past heartbeats; its data parsed."""
        while True:
            fields = self.block(seconds)
            assert fields is not None, "the stream ended"
            if "data" in fields:
                return {**fields, "data": json.loads(fields["data"])}

    def rest(self, seconds: float = SOON) -> list[dict[str, str]]:
        """What comes until the end, which must come."""
        blocks = []
        while (fields := self.block(seconds)) is not None:
            blocks.append(fields)
        return blocks


@contextmanager
def stream(person: Person, headers: dict[str, str] | None = None, **params: Any) -> Iterator[Stream]:
    """An event stream of a person's inbox, past its first comment."""
    with person.http.stream("GET", "/v1/inbox/stream", params=params, headers=headers) as answer:
        if answer.status_code != 200:
            answer.read()
            raise AssertionError(f"{answer.status_code} {answer.text}")
        one = Stream(answer)
        assert one.block() == {"": "open"}
        yield one


class Socket:
    """An open socket."""

    def __init__(self, line: ClientConnection) -> None:
        self.line = line

    def send(self, **fields: Any) -> None:
        """One frame of version 1."""
        self.line.send(json.dumps({"v": 1, **fields}))

    def next(self, seconds: float = SOON) -> Frame:
        """The next frame. Fails when none comes."""
        frame: Frame = json.loads(self.line.recv(timeout=seconds))
        assert frame.pop("v") == 1
        return frame

    def until(self, type: str, seconds: float = SOON) -> Frame:
        """The next frame of a type, past others."""
        while (frame := self.next(seconds))["type"] != type:
            pass
        return frame

    def events(self, seconds: float = SOON) -> list[Frame]:
        """The events of the next push."""
        found: list[Frame] = self.until("inbox", seconds)["events"]
        return found

    def ended(self, seconds: float = SOON) -> tuple[str | None, int]:
        """The last error's code and the code of the closing, which must come."""
        code = None
        try:
            while True:
                frame = self.next(seconds)
                code = frame["error"]["code"] if frame["type"] == "error" else code
        except ConnectionClosed as closed:
            return code, closed.rcvd.code if closed.rcvd else 1006


@contextmanager
def opened(service: Service, **options: Any) -> Iterator[Socket]:
    """A socket that has said nothing yet."""
    with connect(f"ws://127.0.0.1:{service.port}/ws", close_timeout=1, **options) as line:
        yield Socket(line)


@contextmanager
def socket(person: Person, *, at: Service | None = None, **hello: Any) -> Iterator[Socket]:
    """A person's socket, ready; from `latest` on unless `after` says otherwise."""
    with opened(at or person.service) as one:
        one.send(token=person.token, **{"after": "latest", **hello})
        ready = one.next()
        assert (ready["type"], ready["identity"]["number"]) == ("ready", person.number)
        yield one
