"""What the contact rules answer when they say no.

Each reads the same whatever its hidden reason, and none says more of the other than the caller said.
"""

from __future__ import annotations

from apps.core.errors import Code, DomainError


def requested() -> DomainError:
    """A request is pending: sent just now, earlier, or to one who will never see it."""
    return DomainError(
        Code.CONTACT_REQUESTED,
        "This identity is not your contact yet; your contact request was sent.",
        next="Send it again once GET /v1/contacts shows friend.",
    )


def required() -> DomainError:
    """The token may not write the contact that this call needs."""
    return DomainError(
        Code.CONTACT_REQUIRED,
        "This identity is not your contact, and this token lacks the scope contacts to ask.",
        next="Ask with a token that has the scope contacts: POST /v1/contacts.",
        extra={"scope": "contacts"},
    )


def declined() -> DomainError:
    """They declined, removed me, or take requests from nobody."""
    return DomainError(
        Code.CONTACT_DECLINED,
        "This identity does not take your requests.",
        next="Only the other side can open this contact, by asking you.",
    )


def blocked_by_you() -> DomainError:
    """My own block stands in the way."""
    return DomainError(
        Code.BLOCKED_BY_YOU,
        "You block this identity's account.",
        next="Take your block back first: POST /v1/contacts/{who}/unblock.",
    )


def not_incoming() -> DomainError:
    """There is no request of theirs to answer."""
    return DomainError(
        Code.NOT_INCOMING,
        "There is no contact request of this identity to answer.",
        next="See GET /v1/contacts?state=incoming.",
    )


def already_friend() -> DomainError:
    """Too late to decline."""
    return DomainError(
        Code.ALREADY_FRIEND,
        "This identity is your contact already.",
        next="To end that: DELETE /v1/contacts/{who}.",
    )
