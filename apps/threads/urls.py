from __future__ import annotations

from django.urls import path

from apps.threads import views

urlpatterns = [
    path("v1/threads", views.Threads.as_view()),
    path("v1/threads/<str:id>", views.Thread.as_view()),
    path("v1/threads/<str:id>/messages", views.Messages.as_view()),
    path("v1/threads/<str:id>/working", views.Working.as_view()),
    path("v1/threads/<str:id>/cancel", views.Cancel.as_view()),
]
