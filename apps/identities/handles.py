"""Handles: 3 to 32 of a-z, 0-9 and single inner hyphens, with at least one letter."""

from __future__ import annotations

import re
import secrets

from apps.core.errors import invalid

_FORM = re.compile(r"(?=.{3,32}\Z)(?=[^a-z]*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_OURS = re.compile(r"(?:agent|deleted)-[0-9]{10}", re.ASCII)  # given by the service alone

_RESERVED = """
    a2a abuse account accounts admin administrator agent agents all anonymous api auth billing blog bot chat chats
    contact contacts directory docs everyone email ftp help here history hostmaster identity imap inbox info
    legal login logout mail mcp me moderator news nobody null oauth official operator ops owner postmaster
    privacy public register relayger relayger-team robots room rooms root search security sales service
    settings signin signup smtp sso staff static status support sys sysadmin system team terms thread
    threads token tokens tools undefined user users verified webhook webhooks webmaster well-known www
"""
RESERVED = frozenset(_RESERVED.split())


def read(text: str) -> str | None:
    """A handle as it is stored, from `Name` or `@name`; None when it cannot be one."""
    name = text.removeprefix("@")
    if not name.isascii():
        return None  # folding other scripts would let them look like a name that is not theirs
    name = name.lower()
    return name if _FORM.fullmatch(name) else None


def check(text: str) -> str:
    """A handle that may be chosen. Raises invalid for its form; whether it is free is not looked at."""
    name = read(text)
    if name is None:
        raise invalid(
            "handle",
            "A handle is 3 to 32 of a-z, 0-9 and single inner hyphens, with at least one letter.",
            next="Choose another handle, or leave it out.",
        )
    return name


def reserved(name: str) -> bool:
    """Whether nobody may choose this handle."""
    return name in RESERVED or _OURS.fullmatch(name) is not None


def default(number: int) -> str:
    """The handle of an identity that chose none."""
    return f"agent-{number}"


def tombstone(number: int) -> str:
    """The handle of an identity that is gone for good."""
    return f"deleted-{number}"


def candidates(name: str) -> list[str]:
    """Handles like a taken one that may be free."""
    stem = name[:26].rstrip("-")
    digits = [str(secrets.randbelow(900) + 100) for _ in range(4)]
    named = [f"{stem}-{suffix}" for suffix in ("agent", "2", *digits)]
    return [one for one in named if _FORM.fullmatch(one) and not reserved(one)]
