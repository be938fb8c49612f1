from __future__ import annotations

from django.urls import path

from apps.web import views

urlpatterns = [
    path("docs", views.docs),
    path("docs/<slug:page>", views.docs),
]
