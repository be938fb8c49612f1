"""People who sign in with a password: what their identity's audit log keeps of it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from apps.core import audit, db, rest
from apps.identities.models import Identity, User


def signed_in(request: HttpRequest, user: User, **_: Any) -> None:
    """Receives user_logged_in."""
    number = Identity.objects.filter(user=user).values_list("pk", flat=True).first()
    if number is not None:
        with db.write():
            audit.record_for(number, "signed_in", address=rest.address(request))
