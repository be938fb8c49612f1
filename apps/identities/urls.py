from __future__ import annotations

from django.urls import path

from apps.identities import views

urlpatterns = [
    path("v1/register", views.Register.as_view()),
    path("v1/me", views.Me.as_view()),
]
