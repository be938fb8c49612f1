from __future__ import annotations

from django.urls import path

from apps.inbox import views, webhook_views

urlpatterns = [
    path("v1/inbox", views.Inbox.as_view()),
    path("v1/inbox/stream", views.Stream.as_view()),
    path("v1/webhooks", webhook_views.Webhooks.as_view()),
    path("v1/webhooks/<str:id>", webhook_views.Webhook.as_view()),
    path("v1/webhooks/<str:id>/deliveries", webhook_views.Deliveries.as_view()),
    path("v1/webhooks/<str:id>/test", webhook_views.Test.as_view()),
    path("v1/webhooks/<str:id>/rotate", webhook_views.Rotate.as_view()),
    path("v1/webhooks/<str:id>/replay", webhook_views.Replay.as_view()),
]
