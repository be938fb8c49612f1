from __future__ import annotations

from django.urls import path

from apps.identities import access_views, views

urlpatterns = [
    path("v1/register", views.Register.as_view()),
    path("v1/me/audit", access_views.Audit.as_view()),
    path("v1/me/claim", access_views.Claim.as_view()),
    path("v1/tokens", access_views.Tokens.as_view()),
    path("v1/tokens/<str:id>", access_views.Token.as_view()),
    path("v1/tokens/<str:id>/rotate", access_views.Rotate.as_view()),
    path("v1/keys", access_views.Keys.as_view()),
    path("v1/keys/<str:id>/retire", access_views.Retire.as_view()),
]
