"""Registration, profiles, handles, credentials."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.text import slugify

from apps.core import audit, db, limits, times
from apps.core.actor import SCOPES, Actor, Ref
from apps.core.errors import Code, DomainError, invalid
from apps.identities import handles, keys, numbers, queries, search_text, secrets
from apps.identities.models import Account, Credential, Handle, Identity, Key, Presence, Skill
from apps.identities.queries import POLICIES, Own

MAX_SKILLS = 32
_DRAWS = 20


@dataclass(frozen=True, slots=True)
class Registered:
    """A new identity and its token, which is shown this once."""

    identity: Own
    token: str


@dataclass(frozen=True, slots=True)
class Known:
    """Whose a public key is that was registered before: no more than its name, since a public key proves nothing."""

    identity: Ref


# -- registration -----------------------------------------------------------------------------------------------


def register(address: str, *, kind: str, public_key: str | None = None, **fields: Any) -> Registered | Known:
    """Make an identity with an account of its own and a token with every scope.

    `fields` are those of `update`. With a `public_key` (32 bytes of Ed25519, base64url) that was registered
    before, nothing is written and who has it is returned. Raises invalid, handle_taken, key_taken,
    rate_limited.
    """
    limits.hit("register", address)
    key = None if public_key is None else keys.read_sign(public_key)
    if key is not None and (known := _known(key)) is not None:
        return known
    try:
        with db.write():
            identity = make(kind, **fields)
            if key is not None:
                Key.objects.create(identity=identity, purpose=Key.Purpose.SIGN, public=key)
            token = mint(identity, "first")
            audit.record_for(identity.number, "registered", address=address, kind=kind)
    except (IntegrityError, DomainError):
        # The same call at the same moment may have taken the key, or the handle first.
        if key is None or (known := _known(key)) is None:
            raise
        return known
    return Registered(queries.own(identity.number), token)


def _known(key: bytes) -> Known | None:
    """Who registered with this key earlier. Raises key_taken when the key is good for nobody now."""
    found = Key.objects.select_related("identity").filter(public=key).first()
    if found is None:
        return None
    one = found.identity
    if one.deleted_at or one.suspended_at or found.retired_at or found.purpose != Key.Purpose.SIGN:
        raise keys.taken()
    return Known(one.ref)


def make(
    kind: str,
    *,
    number: int | None = None,
    handle: str | None = None,
    free_of_rules: bool = False,
    **fields: Any,
) -> Identity:
    """Store a new identity inside a transaction. Raises what `update` raises.

    `free_of_rules` lets the service's own agent have a reserved handle.
    """
    account = Account.objects.create()
    for _ in range(_DRAWS):
        drawn = number or numbers.draw()
        try:
            with transaction.atomic():
                identity = Identity.objects.create(
                    number=drawn, account=account, kind=kind, handle=handles.default(drawn)
                )
            break
        except IntegrityError:
            if number is not None:
                raise
    else:
        raise RuntimeError("no free number was drawn")
    _claim(identity, handle or handles.default(drawn), free_of_rules=free_of_rules or handle is None)
    _change(identity, fields)
    _save(identity)
    return identity


def mint(identity: Identity, name: str, scopes: Sequence[str] = SCOPES) -> str:
    """Store a new token of an identity, inside a transaction; its secret, which is not kept."""
    secret = secrets.make()
    Credential.objects.create(
        identity=identity, name=name, hash=secrets.digest(secret), scopes=" ".join(scopes)
    )
    return secret


# -- profiles ---------------------------------------------------------------------------------------------------


def update(actor: Actor, fields: Mapping[str, Any]) -> Own:
    """Change what is given of: handle, display_name, description, skills, listed, policy or receive and accept.

    Raises insufficient_scope, invalid, handle_taken, rate_limited.
    """
    actor.need("profile")
    with db.write():
        identity = Identity.objects.select_for_update(no_key=True).get(pk=actor.identity)
        before = _shown(identity)
        old = _policy(identity)
        rest = dict(fields)
        if (handle := rest.pop("handle", None)) is not None and handles.check(handle) != identity.handle:
            limits.hit("handle", identity.number)  # each change keeps the old one from everybody else
            audit.record(actor, "handle.changed", before=identity.handle, after=handles.check(handle))
            _claim(identity, handle)
        _change(identity, rest)
        if (new := _policy(identity)) != old:
            audit.record(actor, "policy.changed", before=old, after=new)
        if _shown(identity) != before:
            identity.updated_at = times.now()
        _save(identity)
    return queries.own(actor.identity)


def _shown(identity: Identity) -> tuple[Any, ...]:
    """What an identity's card may show; only its change is one to who keeps the card."""
    skills = identity.skills.values_list("slug", "name", "description", "tags")
    return identity.handle, identity.display_name, identity.description, list(skills)


def _policy(identity: Identity) -> dict[str, Any]:
    """Who may ask an identity and who finds it: what its audit log keeps the changes of."""
    return {"receive": identity.receive, "accept": identity.accept, "listed": identity.listed}


def _change(identity: Identity, fields: dict[str, Any]) -> None:
    policy = fields.pop("policy", None)
    if policy is not None:
        named = {name: pair for pair, name in POLICIES.items()}
        identity.receive, identity.accept = named[policy]
    for name in ("receive", "accept", "listed", "display_name", "description"):
        if name in fields:
            setattr(identity, name, fields[name])
    if "skills" in fields:
        _replace_skills(identity, fields["skills"])


def _replace_skills(identity: Identity, skills: list[dict[str, Any]]) -> None:
    if len(skills) > MAX_SKILLS:
        raise invalid("skills", f"An identity has at most {MAX_SKILLS} skills.")
    rows = [
        Skill(
            identity=identity,
            slug=slug,
            name=skill["name"],
            description=skill.get("description", ""),
            tags=list(dict.fromkeys(skill.get("tags", []))),
            position=place,
        )
        for place, (skill, slug) in enumerate(zip(skills, _slugs(skills), strict=True))
    ]
    identity.skills.all().delete()
    Skill.objects.bulk_create(rows)


def _slugs(skills: list[dict[str, Any]]) -> list[str]:
    """Each skill's slug: the given ones as they are, the others made from names. Raises invalid for a second."""
    taken: set[str] = set()
    for place, skill in enumerate(skills):
        if (given := skill.get("slug")) in taken:
            raise invalid(f"skills[{place}].slug", f"Two skills have the slug {given}.")
        if given:
            taken.add(given)
    slugs = []
    for skill in skills:
        stem = slugify(skill["name"])[:60].strip("-_") or "skill"
        tries = (stem if count == 1 else f"{stem}-{count}" for count in itertools.count(1))
        slug = skill.get("slug") or next(one for one in tries if one not in taken)
        taken.add(slug)
        slugs.append(slug)
    return slugs


def _save(identity: Identity) -> None:
    """Store an identity with the text the directory searches."""
    skills = [
        word
        for skill in identity.skills.all()
        for word in (skill.slug, skill.name, skill.description, *skill.tags)
    ]
    identity.search_text = search_text.build(
        identity.handle, identity.display_name, skills, identity.description
    )
    identity.save()


# -- handles ----------------------------------------------------------------------------------------------------


def _claim(identity: Identity, text: str, *, free_of_rules: bool = False) -> None:
    """Give an identity a handle and hold its old one, inside a transaction. Raises invalid, handle_taken."""
    name = text if free_of_rules else handles.check(text)
    if not free_of_rules and handles.reserved(name) and name != handles.default(identity.number):
        raise _taken(name)
    now = times.now()
    Handle.objects.filter(handle=name, held_until__lte=now).delete()
    mine = Handle.objects.filter(handle=name, identity=identity).update(held_until=None)
    if not mine:
        try:
            with transaction.atomic():
                Handle.objects.create(handle=name, identity=identity)
        except IntegrityError:
            raise _taken(name) from None
    held = now + timedelta(days=settings.RELAYGER.handle_hold_days)
    Handle.objects.filter(identity=identity, held_until=None).exclude(handle=name).update(held_until=held)
    identity.handle = name


def _taken(name: str) -> DomainError:
    wanted = handles.candidates(name)
    taken = set(Handle.objects.filter(handle__in=wanted).values_list("handle", flat=True))
    return DomainError(
        Code.HANDLE_TAKEN,
        f"The handle {name} is taken.",
        field="handle",
        next="Choose one of `suggestions`, or another.",
        extra={"suggestions": [one for one in wanted if one not in taken][:3]},
    )


# -- last use ---------------------------------------------------------------------------------------------------


def flush_presence() -> int:
    """Store when credentials and identities were last used, as this process saw it; how many credentials."""
    used = queries.take_used()
    if not used:
        return 0
    seen: dict[int, Any] = {}
    with db.write():
        # Locked in order, so that processes that saw the same credentials never wait for each other in a circle.
        found = Credential.objects.select_for_update(no_key=True).filter(pk__in=used).order_by("pk")
        rows = found.only("pk", "identity_id", "last_used_at")
        # Of an identity that is gone for good by now, nothing is stored again: its credentials went with it.
        for row in rows:
            at = used[row.pk]
            seen[row.identity_id] = max(at, seen.get(row.identity_id, at))
        Credential.objects.bulk_update(
            [_used_at(row, used[row.pk]) for row in rows], ["last_used_at"], batch_size=500
        )
        Presence.objects.bulk_create(
            [Presence(identity_id=number, seen_at=at) for number, at in sorted(seen.items())],
            update_conflicts=True,
            unique_fields=["identity"],
            update_fields=["seen_at"],
        )
    return len(used)


def _used_at(row: Credential, at: Any) -> Credential:
    row.last_used_at = at
    return row
