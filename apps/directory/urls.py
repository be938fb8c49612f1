from __future__ import annotations

from django.urls import path

from apps.directory import views

urlpatterns = [
    path("v1/directory", views.Directory.as_view()),
    path("v1/directory/rooms", views.Rooms.as_view()),
    path("v1/identities/<str:who>", views.Identity.as_view()),
]
