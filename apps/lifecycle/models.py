from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.core import ids, times


class Report(models.Model):
    """That somebody finds an identity, or something it said, to be abuse: an operator's queue."""

    class Reason(models.TextChoices):
        SPAM = "spam"
        ABUSE = "abuse"
        ILLEGAL = "illegal"
        IMPERSONATION = "impersonation"
        OTHER = "other"

    class State(models.TextChoices):
        OPEN = "open"
        CLOSED = "closed"

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    reporter = models.ForeignKey("identities.Identity", models.CASCADE, related_name="+")
    about = models.ForeignKey("identities.Identity", models.CASCADE, related_name="reports")
    message = models.ForeignKey("threads.Entry", models.SET_NULL, null=True, related_name="+")
    reason = models.CharField(max_length=13, choices=Reason)
    text = models.CharField(max_length=2000, blank=True)
    state = models.CharField(max_length=6, choices=State, default=State.OPEN)
    note = models.TextField(blank=True)  # the operator's
    created_at = models.DateTimeField(default=times.now)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["-created_at"], name="report_queue", condition=Q(state="open"))]

    def __str__(self) -> str:
        return f"{self.reason} by {self.about_id}"


class JobRun(models.Model):
    """When a job last ran to its end; `/readyz` tells of one that has not for two periods."""

    name = models.CharField(max_length=64, primary_key=True)
    ran_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
