from __future__ import annotations

from django.db import models

from apps.core import ids, times


class IdempotencyKey(models.Model):
    """That a creating call was made: by whom, with which key, and what it made. Never its body."""

    identity = models.BigIntegerField()
    action = models.CharField(max_length=32)
    key = models.CharField(max_length=128)
    content_hash = models.BinaryField(max_length=32)
    subject = models.CharField(max_length=40)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            # Read and written by core.idempotency in each creating call.
            models.UniqueConstraint(fields=["identity", "action", "key"], name="idempotency_key"),
        ]
        indexes = [
            # Read by lifecycle.jobs.forget_idempotency_keys.
            models.Index(fields=["created_at"], name="idempotency_age"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.key}"


class AuditEntry(models.Model):
    """What happened to an identity's access and standing, for its owner to read. Never a secret or a message."""

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    identity = models.BigIntegerField()
    action = models.CharField(max_length=32)
    detail = models.JSONField(default=dict)
    credential = models.UUIDField(null=True)  # with which it was done; null for the clock and for operators
    address = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField(default=times.now)

    class Meta:
        indexes = [
            # Read by GET /v1/me/audit, newest first.
            models.Index(fields=["identity", "-at", "-id"], name="audit_list"),
            # Read by lifecycle.jobs.forget_audit.
            models.Index(fields=["at"], name="audit_age"),
        ]

    def __str__(self) -> str:
        return f"{self.identity} {self.action}"
