from __future__ import annotations

from django.urls import path
from django.views.generic import RedirectView

from apps.lifecycle import views
from apps.lifecycle.site import site

urlpatterns = [
    path("v1/me", views.Me.as_view()),
    path("v1/me/restore", views.Restore.as_view()),
    path("v1/me/export", views.Export.as_view()),
    path("v1/reports", views.Reports.as_view()),
    path("v1/contacts/<str:who>", views.Contact.as_view()),
    path("v1/contacts/<str:who>/block", views.Block.as_view()),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", site.urls),
]
