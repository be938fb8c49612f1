"""`/v1/webhooks`."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.core import ids, rest
from apps.core.schema import IDEMPOTENCY_KEY
from apps.identities.rest import actor_of
from apps.identities.serializers import ListQuery
from apps.inbox import webhook_serializers as shapes
from apps.inbox import webhooks


class Webhooks(APIView):
    """The caller's webhooks."""

    @extend_schema(operation_id="webhooks_list", parameters=[ListQuery], responses=shapes.WebhookPage)
    def get(self, request: Request) -> Response:
        """List my webhooks, newest first."""
        given = rest.query(ListQuery, request)
        page = webhooks.listed(actor_of(request), given["limit"], given.get("cursor"))
        return Response(page.show(lambda hook: hook.show()))

    @extend_schema(
        operation_id="webhooks_make",
        parameters=[IDEMPOTENCY_KEY],
        request=shapes.NewWebhook,
        responses={201: shapes.MadeWebhook, 200: shapes.MadeWebhook},
        examples=[
            OpenApiExample(
                "A receiver",
                value={"url": "https://agent.example/relayger", "name": "laptop"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Make a webhook: its address gets a ping when my inbox has news. Its secret is shown this once."""
        given = rest.body(shapes.NewWebhook, request)
        made = webhooks.make(
            actor_of(request), given["url"], given.get("name", ""), client_id=rest.client_id(request, given)
        )
        return _made(made)


class Webhook(APIView):
    """One of the caller's webhooks."""

    @extend_schema(operation_id="webhooks_get", responses=shapes.WebhookBody)
    def get(self, request: Request, id: str) -> Response:
        """Look at one of my webhooks."""
        return Response(webhooks.get(actor_of(request), _webhook_id(id)).show())

    @extend_schema(operation_id="webhooks_change", request=shapes.WebhookChange, responses=shapes.WebhookBody)
    def patch(self, request: Request, id: str) -> Response:
        """Change a webhook's address or name, or enable it again. Pings that wait go to the new address."""
        given = rest.body(shapes.WebhookChange, request)
        changed = webhooks.change(
            actor_of(request),
            _webhook_id(id),
            url=given.get("url"),
            name=given.get("name"),
            enable="state" in given,
        )
        return Response(changed.show())

    @extend_schema(operation_id="webhooks_delete", responses={204: None})
    def delete(self, request: Request, id: str) -> Response:
        """Delete a webhook, with the pings that wait for it."""
        webhooks.delete(actor_of(request), _webhook_id(id))
        return Response(status=204)


class Deliveries(APIView):
    """What became of a webhook's pings."""

    @extend_schema(operation_id="webhooks_deliveries", parameters=[ListQuery], responses=shapes.DeliveryPage)
    def get(self, request: Request, id: str) -> Response:
        """List a webhook's pings, newest first, as long as they are kept."""
        given = rest.query(ListQuery, request)
        page = webhooks.deliveries(actor_of(request), _webhook_id(id), given["limit"], given.get("cursor"))
        return Response(page.show(lambda delivery: delivery.show()))


class Test(APIView):
    """A ping to see that a webhook works."""

    @extend_schema(operation_id="webhooks_test", request=None, responses={201: shapes.DeliveryBody})
    def post(self, request: Request, id: str) -> Response:
        """Send a ping of the type `test`. What became of it is in the list of deliveries."""
        return Response(webhooks.test(actor_of(request), _webhook_id(id)).show(), 201)


class Rotate(APIView):
    """The secret of a webhook."""

    @extend_schema(
        operation_id="webhooks_rotate",
        parameters=[IDEMPOTENCY_KEY],
        request=shapes.WebhookRotate,
        responses={201: shapes.MadeWebhook, 200: shapes.MadeWebhook},
    )
    def post(self, request: Request, id: str) -> Response:
        """Give a webhook a new secret, which is shown this once. The old one signs too for a while."""
        given = rest.body(shapes.WebhookRotate, request, optional=True)
        made = webhooks.rotate(
            actor_of(request),
            _webhook_id(id),
            overlap_hours=given.get("overlap_hours"),
            client_id=rest.client_id(request, given),
        )
        return _made(made)


class Replay(APIView):
    """Pings once more."""

    @extend_schema(
        operation_id="webhooks_replay", request=shapes.WebhookReplay, responses={201: shapes.Replayed}
    )
    def post(self, request: Request, id: str) -> Response:
        """Send pings for the events after a seq, or since a time, as far as my inbox keeps them."""
        given = rest.body(shapes.WebhookReplay, request, optional=True)
        queued = webhooks.replay(
            actor_of(request), _webhook_id(id), after=given.get("after"), since=given.get("since")
        )
        more = queued[-1].seq if len(queued) == webhooks.MAX_REPLAY else None
        return Response({"queued": len(queued), "next": more}, 201)


def _webhook_id(text: str) -> UUID:
    id = ids.read("whk", text)
    if id is None:
        raise webhooks.absent()
    return id


def _made(made: webhooks.Made) -> Response:
    return Response(made.show(), 200 if made.secret is None else 201)
