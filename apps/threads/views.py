"""`/v1/threads`: what answers at once. Reading one thread may wait and stands in `asgi.py`."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.core import ids, paging, rest, times
from apps.core.actor import Actor
from apps.core.errors import invalid, not_found
from apps.core.rest import client_id
from apps.core.schema import ErrorBody, whole_number
from apps.identities.queries import Person, find
from apps.identities.rest import actor_of
from apps.threads import actions, queries, serializers
from apps.threads.parts import given_parts
from apps.threads.show import message_json, thread_json


class Threads(APIView):
    """The actor's threads."""

    @extend_schema(
        operation_id="threads_list", parameters=[serializers.ThreadQuery], responses=serializers.ThreadPage
    )
    def get(self, request: Request) -> Response:
        """List my threads, newest activity first."""
        given = rest.query(serializers.ThreadQuery, request)
        filters = queries.Filters(
            given.get("role"), given.get("state"), given.get("context"), given.get("claimable", False)
        )
        actor = actor_of(request)
        page = queries.threads(actor, filters, given.get("limit", paging.DEFAULT_LIMIT), given.get("cursor"))
        return Response(page.show(lambda row: thread_json(row, actor.identity)))

    @extend_schema(
        operation_id="threads_ask",
        parameters=[serializers.IDEMPOTENCY_KEY],
        request=serializers.Ask,
        responses={201: serializers.Said, 200: serializers.Said, 404: ErrorBody},
    )
    def post(self, request: Request) -> Response:
        """Ask somebody: open a thread that they own until it is answered."""
        given = rest.body(serializers.Ask, request)
        actor = actor_of(request)
        said = actions.ask(
            actor,
            _other(given["to"]),
            parts=given_parts(given),
            context=given.get("context"),
            parent=_id("thr", given.get("parent"), "parent"),
            metadata=given.get("metadata"),
            client_id=client_id(request, given),
        )
        return _said(said, actor)


class Messages(APIView):
    """The messages of one thread."""

    rate = "reply"

    @extend_schema(
        operation_id="threads_say",
        parameters=[serializers.IDEMPOTENCY_KEY],
        request=serializers.Say,
        responses={201: serializers.Said, 200: serializers.Said},
    )
    def post(self, request: Request, id: str) -> Response:
        """Add a message. The assignee's answers the thread unless it sets another state."""
        given = rest.body(serializers.Say, request)
        actor = actor_of(request)
        said = actions.say(
            actor,
            thread_id(id),
            parts=given_parts(given),
            state=given.get("state"),
            attempt=given.get("attempt"),
            of=_id("msg", given.get("of"), "of"),
            last=given.get("last"),
            metadata=given.get("metadata"),
            client_id=client_id(request, given),
        )
        return _said(said, actor)


class Working(APIView):
    """The lease of one thread."""

    rate = "reply"

    @extend_schema(operation_id="threads_working", request=serializers.Working, responses=serializers.Leased)
    def post(self, request: Request, id: str) -> Response:
        """Say that I work on a thread; with a worker's name, take or renew its lease."""
        given = rest.body(serializers.Working, request, optional=True)
        actor = actor_of(request)
        leased = actions.work(actor, thread_id(id), **given)
        return Response(
            {
                "thread": thread_json(leased.thread, actor.identity),
                "attempt": leased.attempt,
                "until": times.show_maybe(leased.until),
            }
        )


class Cancel(APIView):
    """The end of one thread, by who asked it."""

    @extend_schema(operation_id="threads_cancel", request=None, responses=serializers.ThreadBody)
    def post(self, request: Request, id: str) -> Response:
        """Cancel a thread that I asked."""
        actor = actor_of(request)
        return Response({"thread": thread_json(actions.cancel(actor, thread_id(id)), actor.identity)})


class Thread(APIView):
    """Describes GET, which the ASGI call in front answers; every other method is refused here."""

    @extend_schema(
        operation_id="threads_get",
        parameters=[
            whole_number("wait", "Seconds to wait for a change.", most=25),
            whole_number("after", "Show and wait for entries past this generation."),
        ],
        responses=serializers.ThreadWithMessages,
    )
    def get(self, request: Request, id: str) -> Response:
        """Read a thread; with `wait`, answer as soon as its generation is past `after`."""
        rest.answered_in_front()


def thread_id(text: str) -> UUID:
    """The id in a path. Raises not_found, as for a thread of somebody else."""
    id = ids.read("thr", text)
    if id is None:
        raise queries.absent()
    return id


def _other(who: str) -> Person:
    found = find(who)
    if found is None:
        raise not_found("identity")
    return found


def _id(prefix: ids.Prefix, text: str | None, field: str) -> UUID | None:
    if text is None:
        return None
    id = ids.read(prefix, text)
    if id is None:
        raise invalid(field, f"Must be an id like {prefix}_….")
    return id


def _said(said: actions.Said, actor: Actor) -> Response:
    body = {
        "thread": thread_json(said.thread, actor.identity),
        "message": message_json(said.entry, said.thread),
        "duplicate": said.duplicate,
    }
    return Response(body, 200 if said.duplicate else 201)
