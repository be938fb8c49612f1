from __future__ import annotations

from django.urls import path

from apps.contacts import views

urlpatterns = [
    path("v1/contacts", views.Contacts.as_view()),
    path("v1/contacts/<str:who>/accept", views.Accept.as_view()),
    path("v1/contacts/<str:who>/decline", views.Decline.as_view()),
    path("v1/contacts/<str:who>/unblock", views.Unblock.as_view()),
]
