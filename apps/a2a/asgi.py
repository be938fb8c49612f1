"""A2A over HTTP: one address per agent for calls, and its card beside it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from functools import partial

from django.conf import settings

from apps.a2a import cards, envelope, errors, methods, streams
from apps.a2a.errors import Fault, Id
from apps.a2a.methods import Answer, Follow, Outcome
from apps.core import db, limits
from apps.core.actor import Actor
from apps.core.asgi import App, Gone, Receive, Reply, Request, Scope, Send, internal
from apps.core.errors import Code, DomainError, not_found
from apps.identities.queries import authenticate, find, touched

logger = logging.getLogger(__name__)

# Any page may call: nothing here believes a cookie, so that there is nothing to steal.
_CORS = [
    ("Access-Control-Allow-Origin", "*"),
    (
        "Access-Control-Expose-Headers",
        "ETag, Last-Modified, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate",
    ),
]
_PREFLIGHT = [
    ("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS"),
    (
        "Access-Control-Allow-Headers",
        "Authorization, Content-Type, A2A-Version, A2A-Extensions, If-None-Match, If-Modified-Since",
    ),
    ("Access-Control-Max-Age", "86400"),
]

Handler = Callable[[Request, Reply], Awaitable[None]]


def _open(handler: Handler) -> App:
    """An ASGI application that any origin may call."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request, reply = Request(scope, receive), Reply(send, _CORS)
        with suppress(Gone):
            if request.method == "OPTIONS":
                await reply.full(204, b"", _PREFLIGHT)
            else:
                await handler(request, reply)

    return app


# -- calls --------------------------------------------------------------------------------------------------


async def _rpc(request: Request, reply: Reply) -> None:
    id: Id = None
    body = b""
    try:
        body = await _body(request)
        with ExitStack() as held:
            id, outcome = await db.run(partial(_answer, request, body, held))
            await _send(request, reply, id, outcome)
    except Gone:
        raise
    except DomainError as error:
        await _refuse(reply, errors.translate(error), envelope.peek(body))
    except Fault as fault:
        await _refuse(reply, fault, id)
    except Exception:
        logger.exception("call failed")
        if reply.started:
            raise
        await _refuse(reply, errors.internal_error(), envelope.peek(body))


async def _body(request: Request) -> bytes:
    if request.method != "POST":
        raise DomainError(
            Code.METHOD_NOT_ALLOWED,
            "Calls are sent with POST.",
            next="The agent's card is at .well-known/agent-card.json below this address.",
        )
    return await request.body(settings.RELAYGER.body_bytes)


def _answer(request: Request, body: bytes, held: ExitStack) -> tuple[Id, Outcome | Fault]:
    """All of a call that needs the database, and what its request called itself, in one visit to a thread."""
    id: Id = None
    try:
        actor = authenticate(request.header("authorization"), request.address)
        agent = find(request.path["who"])
        if agent is None or agent.kind != "agent":
            limits.hit("read", actor.identity)  # numbers are not to be tried out without end
            raise errors.agent_not_found()
    except (DomainError, Fault) as error:
        return envelope.peek(body), error if isinstance(error, Fault) else errors.translate(error)
    try:
        call = envelope.read(body, request.header("content-type"))
        id = call.id
        envelope.check_version(id, request.header("a2a-version"), lambda: request.query)
        method = methods.METHODS.get(call.method)
        if method is None:
            raise errors.method_not_found(id)
        limits.hit(method.rate, actor.identity)
        touched(actor)
        if call.late is not None:
            raise call.late
    except Fault as fault:
        return fault.id if id is None else id, fault
    except DomainError as error:
        return id, errors.translate(error)
    try:
        return id, method.run(methods.Call(actor, agent, call.params, held))
    except Fault as fault:
        return id, fault
    except DomainError as error:
        return id, errors.translate(error, call.method, methods.subject(call.params))


async def _send(request: Request, reply: Reply, id: Id, outcome: Outcome | Fault) -> None:
    match outcome:
        case Answer(result):
            await reply.json(200, {"jsonrpc": "2.0", "id": id, "result": result})
        case Follow(stream=True):
            await streams.stream(request, reply, id, outcome)
        case Follow():
            await streams.block(request, reply, id, outcome)
        case Fault():
            raise outcome


async def _refuse(reply: Reply, fault: Fault, id: Id) -> None:
    headers = list(fault.headers.items())
    if fault.status == 405:
        headers.append(("Allow", "POST, OPTIONS"))
    await reply.json(fault.status, fault.body(id), headers)


# -- cards --------------------------------------------------------------------------------------------------


def _plain(handler: Handler) -> Handler:
    """`handler` with errors as the HTTP API shows them."""

    async def handled(request: Request, reply: Reply) -> None:
        try:
            await handler(request, reply)
        except Gone:
            raise
        except DomainError as error:
            more = [("Allow", "GET, HEAD, OPTIONS")] if error.code is Code.METHOD_NOT_ALLOWED else []
            await reply.json(error.status, error.body(), [*error.headers().items(), *more])
        except Exception:
            logger.exception("call failed")
            await reply.error(internal())

    return handled


async def _card(request: Request, reply: Reply) -> None:
    if request.method not in ("GET", "HEAD"):
        raise DomainError(Code.METHOD_NOT_ALLOWED, "A card is read with GET.")
    card = await db.run(
        partial(_find_card, request.header("authorization"), request.address, request.path["who"])
    )
    if card.is_fresh(request.header("if-none-match"), request.header("if-modified-since")):
        await reply.full(304, b"", card.headers())
    else:
        await reply.full(200, card.body, [("Content-Type", "application/json"), *card.headers()])


def _find_card(header: str | None, address: str, who: str) -> cards.Card:
    viewer: Actor | None = None
    if header is not None:
        viewer = authenticate(header, address)
        limits.hit("read", viewer.identity)
        touched(viewer)
    else:
        limits.hit("public", address)
    return cards.find(viewer, who)


async def _misplaced(request: Request, reply: Reply) -> None:
    origin: str = settings.RELAYGER.origin
    raise DomainError(
        Code.NOT_FOUND,
        "Each agent here has a card of its own.",
        next=f"GET {origin}/a2a/{{number}}/.well-known/agent-card.json; a client that drops the last part of its "
        f"address is given {origin}/a2a/{{number}}/ with the slash.",
    )


async def _elsewhere(request: Request, reply: Reply) -> None:
    raise not_found("address")


rpc = _open(_rpc)
card = _open(_plain(_card))
misplaced = _open(_plain(_misplaced))
elsewhere = _open(_plain(_elsewhere))
