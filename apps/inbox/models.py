from __future__ import annotations

from django.db import models

from apps.core import times


class InboxHead(models.Model):
    """The newest `seq` of an inbox, and the newest that retention has dropped. Narrow: each write touches it."""

    identity = models.OneToOneField("identities.Identity", models.CASCADE, primary_key=True, related_name="+")
    seq = models.BigIntegerField(default=0)
    floor = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.identity_id}: {self.seq}"


class InboxEvent(models.Model):
    """That something is new for an identity: a type and the id of what, never its content."""

    pk = models.CompositePrimaryKey("identity", "seq")
    identity = models.ForeignKey("identities.Identity", models.CASCADE, related_name="+", db_index=False)
    seq = models.BigIntegerField()
    type = models.CharField(max_length=32)
    subject = models.CharField(max_length=40)
    created_at = models.DateTimeField(default=times.now)

    class Meta:
        indexes = [
            # Read by lifecycle.jobs.drop_old_events.
            models.Index(fields=["created_at"], name="inbox_age"),
        ]

    def __str__(self) -> str:
        return f"{self.identity_id}/{self.seq} {self.type}"
