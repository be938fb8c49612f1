from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.core import ids, times


class State(models.TextChoices):
    """The states of a thread."""

    OPEN = "open"
    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    AUTH_REQUIRED = "auth_required"
    ANSWERED = "answered"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELED = "canceled"
    DECLINED = "declined"


FINAL = frozenset({State.ANSWERED, State.FAILED, State.EXPIRED, State.CANCELED, State.DECLINED})
NEEDS_ASKER = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED})
LIVE = tuple(state for state in State if state not in FINAL)


class Thread(models.Model):
    """A question in a direct chat, from `asker` to `assignee`; `generation` is its newest entry's cursor."""

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    chat = models.ForeignKey("contacts.Chat", models.CASCADE, related_name="threads", db_index=False)
    asker = models.ForeignKey("identities.Identity", models.CASCADE, related_name="+", db_index=False)
    assignee = models.ForeignKey("identities.Identity", models.CASCADE, related_name="+", db_index=False)
    state = models.CharField(max_length=14, choices=State, default=State.OPEN)
    context = models.CharField(max_length=128)
    generation = models.BigIntegerField()
    messages = models.PositiveIntegerField(default=1)
    size = models.PositiveBigIntegerField(default=0)  # bytes of JSON in all its messages
    parent = models.ForeignKey("self", models.SET_NULL, null=True, related_name="children", db_index=False)
    hops = models.PositiveSmallIntegerField(default=0)
    lease_owner = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True)
    attempt = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=times.now)
    state_at = models.DateTimeField(default=times.now)
    activity_at = models.DateTimeField(default=times.now)
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [
            # Read by ListTasks and GET /v1/threads?role=asker: newest activity first.
            models.Index(fields=["asker", "assignee", "-activity_at", "-id"], name="thread_pair"),
            models.Index(fields=["asker", "-activity_at", "-id"], name="thread_asker"),
            # Read by GET /v1/threads?role=assignee; a worker's `claimable` reads the live ones.
            models.Index(fields=["assignee", "-activity_at", "-id"], name="thread_assignee"),
            models.Index(
                fields=["assignee", "activity_at"],
                name="thread_live",
                condition=Q(state__in=["open", "working"]),
            ),
            # Read by lifecycle.jobs.expire_threads.
            models.Index(
                fields=["expires_at"],
                name="thread_expiry",
                condition=Q(state__in=["open", "working", "input_required", "auth_required"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"


class Entry(models.Model):
    """A message, a chunk of a growing reply, or a change of a thread's state, with the chat's next cursor."""

    class Kind(models.TextChoices):
        MESSAGE = "message"
        EVENT = "event"

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    chat = models.ForeignKey("contacts.Chat", models.CASCADE, related_name="entries", db_index=False)
    cursor = models.BigIntegerField()
    kind = models.CharField(max_length=7, choices=Kind)
    type = models.CharField(max_length=32)
    actor = models.ForeignKey(
        "identities.Identity", models.SET_NULL, null=True, related_name="+", db_index=False
    )
    thread = models.ForeignKey(Thread, models.CASCADE, null=True, related_name="entries", db_index=False)
    of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="chunks", db_index=False)
    last = models.BooleanField(null=True)
    # JSON texts, kept as text: jsonb would reorder keys and respell numbers.
    data = models.TextField()
    metadata = models.TextField(null=True)  # noqa: DJ001  null is "none given", "" is not JSON
    message_id = models.TextField(null=True)  # noqa: DJ001  the asker's own id, as given
    client_id = models.CharField(max_length=128, null=True)  # noqa: DJ001  null is "none given"
    content_hash = models.BinaryField(max_length=32, null=True)
    # Its text parts, casefolded: what GET /v1/search looks for. Null when there is nothing to find.
    search_text = models.TextField(null=True)  # noqa: DJ001
    created_at = models.DateTimeField(default=times.now)
    edited_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)
    hidden_at = models.DateTimeField(null=True)  # an operator hides what it says
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chat", "cursor"], name="entry_cursor_once")]
        indexes = [
            # Read by each view of a thread: its history in order.
            models.Index(fields=["thread", "cursor"], name="entry_thread"),
            # Read by a retried SendMessage, under the chat's lock.
            models.Index(
                fields=["chat", "content_hash"],
                name="entry_retry",
                condition=Q(content_hash__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.chat_id}/{self.cursor} {self.type}"


class File(models.Model):
    """A file in a chat: its owner changes it, the chat's members read it. What is in it are its versions."""

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    chat = models.ForeignKey("contacts.Chat", models.CASCADE, related_name="files", db_index=False)
    owner = models.ForeignKey("identities.Identity", models.CASCADE, related_name="files", db_index=False)
    version = models.PositiveIntegerField(default=1)  # the newest
    created_at = models.DateTimeField(default=times.now)
    updated_at = models.DateTimeField(default=times.now)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # Read by GET /v1/chats/{id}/files, newest first.
            models.Index(fields=["chat", "-created_at", "-id"], name="file_chat"),
            # Read by the owner's quota.
            models.Index(fields=["owner"], name="file_owner", condition=Q(deleted_at=None)),
        ]

    def __str__(self) -> str:
        return str(self.id)


class FileVersion(models.Model):
    """One content of a file, as it lies in the storage under `key`."""

    file = models.ForeignKey(File, models.CASCADE, related_name="versions", db_index=False)
    version = models.PositiveIntegerField()
    name = models.CharField(max_length=255)
    media_type = models.CharField(max_length=127)
    size = models.PositiveBigIntegerField()
    sha256 = models.BinaryField(max_length=32)
    key = models.CharField(max_length=100, unique=True)
    # Of the entry that told of it: who joined after that sees it no more than the messages before.
    cursor = models.BigIntegerField()
    created_at = models.DateTimeField(default=times.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["file", "version"], name="file_version_once")]

    def __str__(self) -> str:
        return f"{self.file_id}/{self.version}"


class StoredBlob(models.Model):
    """A key of the storage whose bytes are to go: written before the bytes, taken back with the row that uses them.

    So bytes that a crash left behind, and those of a deleted file, are found and removed by a job.
    """

    key = models.CharField(max_length=100, primary_key=True)
    drop_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key
