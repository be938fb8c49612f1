from __future__ import annotations

from django.urls import path

from apps.inbox import views

urlpatterns = [
    path("v1/inbox", views.Inbox.as_view()),
    path("v1/inbox/stream", views.Stream.as_view()),
]
