from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.core import ids, times


class InboxHead(models.Model):
    """The newest `seq` of an inbox, and the newest that retention has dropped. Narrow: each write touches it."""

    identity = models.OneToOneField("identities.Identity", models.CASCADE, primary_key=True, related_name="+")
    seq = models.BigIntegerField(default=0)
    floor = models.BigIntegerField(default=0)
    hooks = models.PositiveSmallIntegerField(default=0)  # how many webhooks want a ping of each rise

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


class Webhook(models.Model):
    """An address that is told, without any content, that an identity's inbox has news."""

    class State(models.TextChoices):
        ACTIVE = "active"
        DISABLED = "disabled"

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    identity = models.ForeignKey("identities.Identity", models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=2048)
    name = models.CharField(max_length=120, blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.ACTIVE)
    reason = models.CharField(max_length=200, blank=True)  # why it is disabled
    # Encrypted, since they sign. The old one signs too until its time has passed.
    secret = models.BinaryField(max_length=200)
    old_secret = models.BinaryField(max_length=200, null=True)
    old_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=times.now)
    # Who sends to it now: nobody else does until this time.
    claimed_until = models.DateTimeField(null=True)
    # When its next ping is due; null when none waits. Read by the job that sends.
    due_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)  # the first of the tries that failed in a row

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="webhook_due", condition=Q(due_at__isnull=False))]

    def __str__(self) -> str:
        return self.url


class Outbox(models.Model):
    """A ping to a webhook, sent in order until it is taken; its id is the `webhook-id` of every try."""

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        DROPPED = "dropped"

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="pings", db_index=False)
    type = models.CharField(max_length=8, default="inbox")
    seq = models.BigIntegerField()
    state = models.CharField(max_length=9, choices=State, default=State.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    status = models.PositiveSmallIntegerField(null=True)  # of the last answer
    error = models.CharField(max_length=200, blank=True)  # of the last try, when there was no answer
    created_at = models.DateTimeField(default=times.now)
    tried_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # Read by GET /v1/webhooks/{id}/deliveries, newest first.
            models.Index(fields=["webhook", "-created_at", "-id"], name="outbox_list"),
            # Read by the job that sends, in their order: the clocks of two machines may differ, seqs do not.
            models.Index(
                fields=["webhook", "seq", "id"], name="outbox_pending", condition=Q(state="pending")
            ),
            # Read by the job that forgets.
            models.Index(fields=["created_at"], name="outbox_age"),
        ]

    def __str__(self) -> str:
        return f"{self.webhook_id}/{self.seq} {self.state}"
