from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from apps.core import ids, times


class Contact(models.Model):
    """How `owner` sees `other`. No row: not a contact. The one who declined or removed keeps no row."""

    class State(models.TextChoices):
        REQUESTED = "requested"
        INCOMING = "incoming"
        FRIEND = "friend"
        DECLINED = "declined"

    owner = models.ForeignKey("identities.Identity", models.CASCADE, related_name="contacts")
    other = models.ForeignKey("identities.Identity", models.CASCADE, related_name="+")
    state = models.CharField(max_length=9, choices=State)
    note = models.CharField(max_length=500, blank=True)
    updated_at = models.DateTimeField(default=times.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "other"], name="contact_once")]
        # Read by GET /v1/contacts, newest change first.
        indexes = [models.Index(fields=["owner", "-updated_at", "other"], name="contact_list")]

    def __str__(self) -> str:
        return f"{self.owner_id} sees {self.other_id} as {self.state}"


class Block(models.Model):
    """`owner` wants nothing from any identity of `other`'s account."""

    owner = models.ForeignKey("identities.Identity", models.CASCADE, related_name="blocks")
    other = models.ForeignKey("identities.Identity", models.CASCADE, related_name="+")
    created_at = models.DateTimeField(default=times.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "other"], name="block_once")]

    def __str__(self) -> str:
        return f"{self.owner_id} blocks {self.other_id}"


class Chat(models.Model):
    """Where entries live. `head` is the cursor of the newest entry; its row is the lock of the chat."""

    class Kind(models.TextChoices):
        DIRECT = "direct"
        ROOM = "room"
        PUBLIC = "public"

    class Visibility(models.TextChoices):
        PRIVATE = "private"
        PUBLIC = "public"

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    kind = models.CharField(max_length=6, choices=Kind)
    pair_low = models.BigIntegerField(null=True)
    pair_high = models.BigIntegerField(null=True)
    topic = models.CharField(max_length=200, blank=True)
    visibility = models.CharField(max_length=7, choices=Visibility, default=Visibility.PRIVATE)
    # The topic, casefolded: what the directory of rooms looks for.
    search_text = models.TextField(blank=True)
    head = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(default=times.now)
    activity_at = models.DateTimeField(default=times.now)

    class Meta:
        constraints = [
            # One direct chat per pair; asking looks it up by this.
            models.UniqueConstraint(fields=["pair_low", "pair_high"], name="chat_pair_once"),
            models.CheckConstraint(
                condition=Q(kind="direct", pair_low__lte=F("pair_high"))
                | (~Q(kind="direct") & Q(pair_low=None, pair_high=None)),
                name="chat_pair_of_direct",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Member(models.Model):
    """That an identity belongs to a chat, and how far it has read."""

    class State(models.TextChoices):
        INVITED = "invited"
        MEMBER = "member"
        DECLINED = "declined"
        LEFT = "left"
        REMOVED = "removed"

    class Role(models.TextChoices):
        OWNER = "owner"
        MEMBER = "member"

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="members")
    identity = models.ForeignKey("identities.Identity", models.CASCADE, related_name="memberships")
    state = models.CharField(max_length=8, choices=State, default=State.MEMBER)
    role = models.CharField(max_length=6, choices=Role, default=Role.MEMBER)
    joined_cursor = models.BigIntegerField(default=0)  # entries up to it are from before its time
    read_cursor = models.BigIntegerField(default=0)
    joined_at = models.DateTimeField(default=times.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chat", "identity"], name="member_once")]
        # Read by GET /v1/chats and GET /v1/search: where one is a member.
        indexes = [models.Index(fields=["identity", "state", "chat"], name="member_chats")]

    def __str__(self) -> str:
        return f"{self.identity_id} in {self.chat_id}"


class Invite(models.Model):
    """A contact request or an invitation to a room, and what became of it."""

    class State(models.TextChoices):
        PENDING = "pending"
        ACCEPTED = "accepted"
        DECLINED = "declined"
        WITHDRAWN = "withdrawn"

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="invites")
    sender = models.ForeignKey("identities.Identity", models.CASCADE, related_name="+")
    receiver = models.ForeignKey("identities.Identity", models.CASCADE, related_name="+")
    note = models.CharField(max_length=500, blank=True)
    state = models.CharField(max_length=9, choices=State, default=State.PENDING)
    created_at = models.DateTimeField(default=times.now)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chat", "sender", "receiver"],
                condition=Q(state="pending"),
                name="invite_pending_once",
            ),
        ]
        # Read by the list of invitations that wait for an answer.
        indexes = [
            models.Index(fields=["receiver", "-id"], name="invite_waiting", condition=Q(state="pending"))
        ]

    def __str__(self) -> str:
        return f"{self.sender_id} invites {self.receiver_id}"
