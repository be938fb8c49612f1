from __future__ import annotations

from django.apps import AppConfig


class ThreadsConfig(AppConfig):
    name = "apps.threads"
    label = "threads"
