from __future__ import annotations

from django.urls import path

from apps.web import views

urlpatterns = [
    path("docs", views.docs),
    path("docs/api", views.api),
    path("docs/openapi.yaml", views.openapi, name="openapi"),
    path("docs/<str:name>.json", views.data),
    path("docs/<slug:page>", views.docs),
]
