from __future__ import annotations

from django.db import models


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
