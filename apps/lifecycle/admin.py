"""The operators' queue and what they look up for it. Nothing is edited here: each act is an action's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

import orjson
from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import AbstractBaseUser, PermissionsMixin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from apps.core import times
from apps.core.errors import DomainError
from apps.core.models import AuditEntry
from apps.identities.models import Identity
from apps.lifecycle import reports, suspension
from apps.lifecycle.models import Report
from apps.lifecycle.site import site
from apps.threads import hiding
from apps.threads.parts import text_of

M = TypeVar("M", bound=Model)

if TYPE_CHECKING:

    class _Admin(admin.ModelAdmin[M]): ...
else:

    class _Admin(admin.ModelAdmin):
        def __class_getitem__(cls, _: object) -> type:
            return cls


class Acting(ActionForm):
    """What an act needs besides what it is about."""

    reason = forms.CharField(
        required=False, max_length=suspension.MAX_REASON, help_text="to suspend; the suspended are told"
    )
    days = forms.IntegerField(required=False, min_value=1, max_value=3650, help_text="none: until lifted")
    note = forms.CharField(required=False, max_length=2000, help_text="for operators alone")


class ReadOnly(_Admin[M]):
    """Rows to look at."""

    actions_selection_counter = False
    show_full_result_count = False  # counting a large table takes longer than the page
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_moderate_permission(self, request: HttpRequest) -> bool:
        """Who may act: those with the permission to change what they act on."""
        user = cast(PermissionsMixin, request.user)
        return user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    def act(self, request: HttpRequest, rows: Iterable[M], what: str, do: Callable[[M], object]) -> None:
        """Do something with each row; each goes into the operators' log, and the first refusal ends it."""
        done = 0
        for row in rows:
            try:
                do(row)
            except DomainError as error:
                self.message_user(request, f"{row}: {error.message}", messages.ERROR)
                break
            self.log_change(request, row, what)
            done += 1
        if done:
            self.message_user(request, f"{what}: {done}", messages.SUCCESS)


def _suspend(request: HttpRequest, number: int) -> None:
    days = request.POST.get("days", "").strip()
    until = times.now() + timedelta(days=int(days)) if days else None
    suspension.suspend(number, request.POST.get("reason", ""), until)


@admin.register(Report, site=site)
class Reports(ReadOnly[Report]):
    """The queue."""

    list_display = ("created_at", "state", "reason", "about", "reporter", "has_message")
    list_filter = ("state", "reason")
    list_select_related = ("about", "reporter")
    search_fields = ("=about__number", "=about__handle", "=reporter__number")
    search_help_text = "A number, or the handle of who is reported"
    ordering = ("-created_at",)
    action_form = Acting
    actions = ("suspend", "lift", "hide", "show", "add_note", "close")
    fields = (
        "created_at",
        "state",
        "closed_at",
        "reason",
        "reporter",
        "about",
        "text",
        "said",
        "hidden",
        "note",
    )

    @admin.display(boolean=True, description="message")
    def has_message(self, row: Report) -> bool:
        return row.message_id is not None

    @admin.display(description="the message")
    def said(self, row: Report) -> str:
        """What the message says, also when it is hidden."""
        if row.message is None:
            return "-"
        parts: list[dict[str, Any]] = orjson.loads(row.message.data)["parts"]
        others = [part for part in parts if "text" not in part]
        return "\n".join(filter(None, [text_of(parts), *(orjson.dumps(part).decode() for part in others)]))

    @admin.display(boolean=True, description="hidden")
    def hidden(self, row: Report) -> bool | None:
        return None if row.message is None else row.message.hidden_at is not None

    @admin.action(description="Suspend who is reported (reason, days)", permissions=["moderate"])
    def suspend(self, request: HttpRequest, rows: QuerySet[Report]) -> None:
        self.act(request, _once(rows), "Suspended", lambda row: _suspend(request, row.about_id))

    @admin.action(description="Lift the suspension of who is reported", permissions=["moderate"])
    def lift(self, request: HttpRequest, rows: QuerySet[Report]) -> None:
        self.act(request, _once(rows), "Lifted", lambda row: suspension.lift(row.about_id))

    @admin.action(description="Hide the message", permissions=["moderate"])
    def hide(self, request: HttpRequest, rows: QuerySet[Report]) -> None:
        self.act(request, _of_messages(rows), "Hidden", lambda row: hiding.hide(_message(row)))

    @admin.action(description="Show the message again", permissions=["moderate"])
    def show(self, request: HttpRequest, rows: QuerySet[Report]) -> None:
        self.act(request, _of_messages(rows), "Shown", lambda row: hiding.show(_message(row)))

    @admin.action(description="Note", permissions=["moderate"])
    def add_note(self, request: HttpRequest, rows: QuerySet[Report]) -> None:
        self.act(request, rows, "Noted", lambda row: reports.note(row.pk, request.POST.get("note", "")))

    @admin.action(description="Close", permissions=["moderate"])
    def close(self, request: HttpRequest, rows: QuerySet[Report]) -> None:
        self.act(request, rows, "Closed", lambda row: reports.close(row.pk, request.POST.get("note", "")))


def _once(rows: QuerySet[Report]) -> list[Report]:
    """The reports, but one for each identity."""
    return list({row.about_id: row for row in rows}.values())


def _message(row: Report) -> UUID:
    assert row.message_id is not None  # noqa: S101  `_of_messages` left the others out
    return row.message_id


def _of_messages(rows: QuerySet[Report]) -> QuerySet[Report]:
    return rows.filter(message__isnull=False)


@admin.register(Identity, site=site)
class Identities(ReadOnly[Identity]):
    """Who there is, and how they stand."""

    list_display = ("number", "handle", "kind", "display_name", "created_at", "suspended_at", "deleted_at")
    list_filter = (
        "kind",
        ("suspended_at", admin.EmptyFieldListFilter),
        ("deleted_at", admin.EmptyFieldListFilter),
    )
    search_fields = ("=number", "=handle")
    search_help_text = "A number or a handle"
    ordering = ("-created_at",)
    action_form = Acting
    actions = ("suspend", "lift")
    fields = (
        *(
            "number",
            "handle",
            "kind",
            "display_name",
            "description",
            "listed",
            "receive",
            "accept",
            "account",
        ),
        *("created_at", "updated_at", "suspended_at", "suspended_until", "suspended_reason", "hidden_at"),
        *("deleted_at", "purge_at"),
    )

    @admin.action(description="Suspend (reason, days)", permissions=["moderate"])
    def suspend(self, request: HttpRequest, rows: QuerySet[Identity]) -> None:
        self.act(request, rows, "Suspended", lambda row: _suspend(request, row.pk))

    @admin.action(description="Lift the suspension", permissions=["moderate"])
    def lift(self, request: HttpRequest, rows: QuerySet[Identity]) -> None:
        self.act(request, rows, "Lifted", lambda row: suspension.lift(row.pk))


@admin.register(AuditEntry, site=site)
class AuditEntries(ReadOnly[AuditEntry]):
    """What happened to identities' access and standing."""

    list_display = ("at", "identity", "action", "address")
    search_fields = ("=identity",)
    search_help_text = "An identity's number"
    ordering = ("-at",)
    fields = ("at", "identity", "action", "detail", "credential", "address")


@admin.register(LogEntry, site=site)
class LogEntries(ReadOnly[LogEntry]):
    """What operators did."""

    list_display = ("action_time", "operator", "object_repr", "change_message")
    list_select_related = ("user", "content_type")
    ordering = ("-action_time",)
    fields = ("action_time", "operator", "content_type", "object_id", "object_repr", "change_message")

    @admin.display(description="operator")
    def operator(self, row: LogEntry) -> str:
        return cast(AbstractBaseUser, row.user).get_username()
