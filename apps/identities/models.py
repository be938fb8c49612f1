from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models import Q

from apps.core import ids, times
from apps.core.actor import Ref


class UserManager(BaseUserManager["User"]):
    """Makes users; `create_superuser` is what Django's command calls."""

    def create_user(self, email: str | None = None, password: str | None = None, **fields: object) -> User:
        user = self.model(email=self.normalize_email(email) if email else None, **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> User:
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractBaseUser, PermissionsMixin):
    """A person's sign-in. What the person does is done by its human identity."""

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    email = models.EmailField(unique=True, null=True, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=times.now)

    USERNAME_FIELD = "email"
    objects: ClassVar[UserManager] = UserManager()


class Account(models.Model):
    """Who pays and rules. A self-registered agent's account has no users until somebody claims it."""

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    name = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField(default=times.now)

    def __str__(self) -> str:
        return self.name or str(self.id)


class Role(models.Model):
    """What a user may do in an account."""

    class Name(models.TextChoices):
        OWNER = "owner"
        ADMIN = "admin"
        MEMBER = "member"

    account = models.ForeignKey(Account, models.CASCADE, related_name="roles")
    user = models.ForeignKey(User, models.CASCADE, related_name="roles")
    role = models.CharField(max_length=8, choices=Name)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "user"], name="role_once")]

    def __str__(self) -> str:
        return self.role


class Identity(models.Model):
    """Who acts: a human or an agent. The number is for ever; the handle may change."""

    class Kind(models.TextChoices):
        HUMAN = "human"
        AGENT = "agent"

    class Custody(models.TextChoices):
        SELF = "self"
        ACCOUNT = "account"
        HOSTED = "hosted"

    class Receive(models.TextChoices):
        ANY = "any"
        CONTACTS = "contacts"

    class Accept(models.TextChoices):
        NONE = "none"
        SHARED = "shared"
        ANY = "any"

    number = models.BigIntegerField(primary_key=True)
    account = models.ForeignKey(Account, models.PROTECT, related_name="identities")
    user = models.OneToOneField(User, models.SET_NULL, null=True, related_name="identity")
    kind = models.CharField(max_length=5, choices=Kind)
    custody = models.CharField(max_length=7, choices=Custody, default=Custody.SELF)
    handle = models.CharField(max_length=32, unique=True)
    display_name = models.CharField(max_length=120, blank=True)
    description = models.CharField(max_length=2048, blank=True)
    listed = models.BooleanField(default=False)
    receive = models.CharField(max_length=8, choices=Receive, default=Receive.ANY)
    accept = models.CharField(max_length=6, choices=Accept, default=Accept.NONE)
    # Handle, name, skills and description, casefolded: what the directory looks for.
    search_text = models.TextField(blank=True)
    created_at = models.DateTimeField(default=times.now)
    updated_at = models.DateTimeField(default=times.now)
    suspended_at = models.DateTimeField(null=True)
    suspended_until = models.DateTimeField(null=True)  # null while suspended: until an operator ends it
    suspended_reason = models.CharField(max_length=500, blank=True)
    hidden_at = models.DateTimeField(null=True)  # an operator took it out of the directory
    deleted_at = models.DateTimeField(null=True)
    purge_at = models.DateTimeField(null=True)  # deleted, and may be restored until then

    class Meta:
        indexes = [
            # Read by lifecycle.jobs: what a clock ends.
            models.Index(fields=["purge_at"], name="identity_purge", condition=Q(purge_at__isnull=False)),
            models.Index(
                fields=["suspended_until"],
                name="identity_suspended",
                condition=Q(suspended_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"@{self.handle}"

    @property
    def ref(self) -> Ref:
        """The identity as it is named."""
        return Ref(self.number, self.handle, self.kind, self.display_name)


class Handle(models.Model):
    """Every handle in use or held, so that one unique index decides who has it.

    `held_until` is null while it is in use, and for ever once its identity is deleted.
    """

    handle = models.CharField(max_length=32, primary_key=True)
    identity = models.ForeignKey(Identity, models.CASCADE, related_name="handles")
    held_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.handle


class Skill(models.Model):
    """What an agent says it can do."""

    identity = models.ForeignKey(Identity, models.CASCADE, related_name="skills")
    slug = models.CharField(max_length=64)
    name = models.CharField(max_length=120)
    description = models.CharField(max_length=1024, blank=True)
    tags = models.JSONField(default=list)
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ("position",)
        constraints = [models.UniqueConstraint(fields=["identity", "slug"], name="skill_once")]

    def __str__(self) -> str:
        return self.slug


class Credential(models.Model):
    """A bearer secret, of which only the hash is kept."""

    class Kind(models.TextChoices):
        TOKEN = "token"  # noqa: S105  a kind, not a secret
        SESSION = "session"

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    identity = models.ForeignKey(Identity, models.CASCADE, related_name="credentials")
    kind = models.CharField(max_length=7, choices=Kind, default=Kind.TOKEN)
    name = models.CharField(max_length=120, blank=True)
    # Authentication looks up by this in its one statement.
    hash = models.BinaryField(max_length=32, unique=True)
    scopes = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=times.now)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name or str(self.id)


class Key(models.Model):
    """A public key of an identity. The bytes are unique for ever: a key never changes hands."""

    class Purpose(models.TextChoices):
        SIGN = "sign"
        SEAL = "seal"

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    identity = models.ForeignKey(Identity, models.CASCADE, related_name="keys")
    purpose = models.CharField(max_length=4, choices=Purpose)
    public = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(default=times.now)
    retired_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.id)


class Claim(models.Model):
    """A one-time code by which another identity's account takes over an agent; only its hash is kept."""

    identity = models.ForeignKey(Identity, models.CASCADE, related_name="claims")
    hash = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(default=times.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.pk)


class Presence(models.Model):
    """When an identity last used the service, kept apart because it changes often."""

    identity = models.OneToOneField(Identity, models.CASCADE, primary_key=True, related_name="presence")
    seen_at = models.DateTimeField()

    class Meta:
        # Read by the directory's `active_within` and its ranking.
        indexes = [models.Index(fields=["-seen_at"], name="presence_seen")]

    def __str__(self) -> str:
        return str(self.seen_at)
