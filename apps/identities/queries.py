"""Who is who: authentication, look-ups, profiles."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.core import db, ids, limits, times
from apps.core.actor import Actor, Ref
from apps.core.errors import Code, DomainError, unauthenticated
from apps.identities import handles, keys, numbers, secrets, sql
from apps.identities.keys import Active, Purpose
from apps.identities.models import Identity, Skill


@dataclass(frozen=True, slots=True)
class Person:
    """An identity that is there, with what the contact rules need of it."""

    number: int
    handle: str
    kind: str
    display_name: str
    account: UUID
    receive: str
    accept: str
    listed: bool

    @property
    def ref(self) -> Ref:
        """The identity as it is named."""
        return Ref(self.number, self.handle, self.kind, self.display_name)


def read_who(text: str) -> int | str | None:
    """The number or handle that a `{who}` is; None when it can be neither. Ten digits are always a number."""
    if len(text) == 10 and text.isascii() and text.isdigit():
        return numbers.read(text)
    return handles.read(text)


def authenticate(header: str | None, address: str) -> Actor:
    """The actor behind an Authorization header (one statement, two for a token that is not good).

    Raises unauthenticated, suspended, or rate_limited when the address has sent too many tokens that are not good.
    """
    try:
        hash = secrets.digest(secrets.from_header(header))
        found = sql.credential(hash)
        if found is None:
            raise _refusal(sql.suspension("hash", hash))
    except DomainError:
        limits.hit("public", address)
        raise
    return _actor(found, address)


def authenticate_deleted(header: str | None, address: str) -> tuple[Actor, bool]:
    """The actor behind a token whose identity may be deleted, and whether it is.

    Raises what `authenticate` raises.
    """
    try:
        return authenticate(header, address), False
    except DomainError as error:
        found = None
        if error.code is Code.UNAUTHENTICATED:
            found = sql.deleted(secrets.digest(secrets.from_header(header)))
        if found is None:
            raise
    if found[7] is not None:
        raise _refusal((found[8], found[9]))
    return _actor(found, address), True


def _actor(row: tuple[Any, ...], address: str) -> Actor:
    return Actor(Ref(*row[2:6]), db.uuid(row[6]), frozenset(str(row[1]).split()), db.uuid(row[0]), address)


def shut_out(actor: Actor) -> DomainError:
    """Why a credential that was good when the call began is not any more: suspended or unauthenticated."""
    return _refusal(sql.suspension("id", actor.credential))


def _refusal(suspension: tuple[Any, ...] | None) -> DomainError:
    if suspension is None:
        return unauthenticated()
    reason, until = suspension[0], db.maybe_time(suspension[1])
    return DomainError(
        Code.SUSPENDED,
        "An operator of this service suspended this identity.",
        next="Write to the operator of this service." if until is None else "Try again after `until`.",
        extra={"reason": reason, "until": times.show_maybe(until)},
    )


def credential_alive(hexes: list[str]) -> dict[str, int | str | None]:
    """Which of some credentials live, for the sweep: one statement."""
    return {db.uuid(id).hex: 1 for (id,) in sql.alive([UUID(one) for one in hexes])}


def find(who: str) -> Person | None:
    """The identity a `{who}` names (one statement); None for absent, deleted and suspended alike."""
    # What can be neither number nor handle is looked up all the same: as 0, which nobody has.
    found = sql.person(read_who(who) or 0)
    if found is None:
        return None
    return Person(
        number=found[0],
        handle=found[1],
        kind=found[2],
        display_name=found[3],
        account=db.uuid(found[4]),
        receive=found[5],
        accept=found[6],
        listed=bool(found[7]),
    )


# -- profiles -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SkillView:
    """A skill as shown."""

    slug: str
    name: str
    description: str
    tags: tuple[str, ...]

    def show(self) -> dict[str, Any]:
        return {
            "slug": self.slug,
            "name": self.name,
            "description": self.description,
            "tags": list(self.tags),
        }


@dataclass(frozen=True, slots=True)
class Profile:
    """An identity as others may see it; `contact` is how the viewer stands to it, if that is known.

    `keys` are those in use, None where many are listed.
    """

    ref: Ref
    description: str
    skills: tuple[SkillView, ...]
    listed: bool
    created_at: datetime
    updated_at: datetime
    contact: str | None
    keys: dict[Purpose, Active] | None

    def show(self, *, viewed: bool) -> dict[str, Any]:
        """The JSON of it; `viewed` when somebody in particular looks."""
        shown = {
            **self.ref.show(),
            "description": self.description,
            "skills": [skill.show() for skill in self.skills],
            "created_at": times.show(self.created_at),
            "a2a_url": f"{settings.RELAYGER.origin}/a2a/{self.ref.number}"
            if self.ref.kind == "agent"
            else None,
            "listed": self.listed,
        }
        if self.keys is not None:
            shown["keys"] = keys.show(self.keys)
        return {**shown, "contact": self.contact} if viewed else shown


def skills_of(identities: list[int]) -> dict[int, tuple[SkillView, ...]]:
    """The skills of each of some identities, in their order: one statement."""
    found: dict[int, list[SkillView]] = {}
    for skill in Skill.objects.filter(identity__in=identities).order_by("identity", "position"):
        view = SkillView(skill.slug, skill.name, skill.description, tuple(skill.tags))
        found.setdefault(skill.identity_id, []).append(view)
    return {number: tuple(views) for number, views in found.items()}


@dataclass(frozen=True, slots=True)
class Own:
    """An identity as itself sees it."""

    profile: Profile
    receive: str
    accept: str
    account: UUID

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        sign = (self.profile.keys or {}).get("sign")
        return {
            **self.profile.show(viewed=False),
            "policy": POLICIES.get((self.receive, self.accept)),
            "receive": self.receive,
            "accept": self.accept,
            "account": ids.show("acc", self.account),
            "public_key": None if sign is None else keys.encode(sign.key.public),
        }


# What the named policies are: who may ask, and who is accepted at once.
POLICIES = {("any", "none"): "ask", ("any", "any"): "anyone", ("contacts", "none"): "nobody"}


def own(number: int) -> Own:
    """An identity as itself sees it."""
    row = Identity.objects.get(pk=number)
    seen = Profile(
        row.ref,
        row.description,
        skills_of([number]).get(number, ()),
        row.listed,
        row.created_at,
        row.updated_at,
        None,
        keys.in_use([number])[number],
    )
    return Own(seen, row.receive, row.accept, row.account_id)


# -- last use ---------------------------------------------------------------------------------------------------

_used: dict[UUID, datetime] = {}
_used_lock = threading.Lock()


def touched(actor: Actor) -> None:
    """Remember that a credential was used; `actions.flush_presence` stores it, at most once a minute."""
    with _used_lock:
        _used[actor.credential] = times.now()


def take_used() -> dict[UUID, datetime]:
    """What was used since the last time, and forget it."""
    with _used_lock:
        taken = dict(_used)
        _used.clear()
    return taken
