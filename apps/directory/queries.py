"""Who can be found, and what may be seen of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from apps.core import db, paging, times
from apps.core.actor import Actor, Ref
from apps.core.errors import not_found
from apps.core.paging import Page
from apps.identities import handles
from apps.identities import search_text as sections
from apps.identities.keys import Active, Purpose, in_use
from apps.identities.queries import Profile, SkillView, read_who, skills_of

_COLUMNS = (
    "i.number, i.handle, i.kind, i.display_name, i.description, i.listed, i.created_at, i.updated_at, c.state"
)
_LIVE = "i.deleted_at IS NULL AND i.suspended_at IS NULL"
_VIEWED = " LEFT JOIN contacts_contact c ON c.owner_id = %s AND c.other_id = i.number"
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)  # when the never seen were active
# No description has room for more words, nor any text for a longer one: such a search finds nothing, without
# making the database try (ten thousand words take it seconds, and SQLite takes no pattern of 50,000 bytes).
_MOST_WORDS = 1024
_LONGEST_WORD = 3 * 2048  # folding makes at most three characters of one


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for: every word of `q`, a skill's slug, activity within some hours."""

    q: str = ""
    skill: str | None = None
    active_within: int | None = None


def profile(viewer: Actor | None, who: str) -> Profile:
    """What `viewer` may see of an identity: listed ones, friends, who asked, oneself. Raises not_found else.

    One statement, hidden and absent alike, and two more for the skills and keys of one that may be seen.
    """
    me = viewer.identity if viewer else 0
    read = read_who(who) or 0
    column = "number" if isinstance(read, int) else "handle"
    found = db.row(
        f"SELECT {_COLUMNS} FROM identities_identity i{_VIEWED} WHERE i.{column} = %s AND {_LIVE}"
        " AND ((i.listed AND i.hidden_at IS NULL) OR i.number = %s OR c.state IN ('friend', 'incoming'))",
        [me, read, me],
    )
    if found is None:
        raise not_found("identity")
    return _profile(found, skills_of([found[0]]), in_use([found[0]])[found[0]])


def search(viewer: Actor | None, wanted: Search, limit: int, cursor: str | None) -> Page[Profile]:
    """A page of listed agents that match: best first, then by activity. At most two statements.

    Raises invalid for a cursor of another search.
    """
    scope = f"directory:{wanted}"
    after, after_params = _after(scope, cursor)
    words = sections.words(wanted.q)
    if len(words) > _MOST_WORDS or any(len(word) > _LONGEST_WORD for word in words):
        return Page([], None)
    rank, rank_params = _rank(wanted.q, words)
    where, params = _where(wanted, words)
    found = db.rows(
        f"SELECT * FROM (SELECT {_COLUMNS}, {rank} AS rank, COALESCE(p.seen_at, %s) AS active"
        f" FROM identities_identity i{_VIEWED} LEFT JOIN identities_presence p ON p.identity_id = i.number"
        f" WHERE i.listed AND i.hidden_at IS NULL AND i.kind = 'agent' AND {_LIVE}{where}) found{after}"
        " ORDER BY rank, active DESC, number LIMIT %s",
        [*rank_params, _NEVER, viewer.identity if viewer else 0, *params, *after_params, limit + 1],
    )
    page = paging.cut(found, limit, scope, lambda row: (row[9], times.show(db.time(row[10])), row[0]))
    skills = skills_of([row[0] for row in page.items])
    return Page([_profile(row, skills) for row in page.items], page.next_cursor)


def _profile(
    row: tuple[Any, ...],
    skills: dict[int, tuple[SkillView, ...]],
    keys: dict[Purpose, Active] | None = None,
) -> Profile:
    return Profile(
        ref=Ref(*row[:4]),
        description=row[4],
        skills=skills.get(row[0], ()),
        listed=bool(row[5]),
        created_at=db.time(row[6]),
        updated_at=db.time(row[7]),
        contact=row[8],
        keys=keys,
    )


def _within(words: list[str], start: str, end: str) -> tuple[str, list[str]]:
    """A condition that every word stands between two marks of the search text."""
    return (
        sections.every(["i.search_text LIKE %s ESCAPE '!'"] * len(words)),
        [f"%{start}%{sections.like(word)}%{end}%" for word in words],
    )


def _anywhere(words: list[str]) -> tuple[str, list[str]]:
    """A condition that every word stands somewhere; the handle counts as shown, with its @."""
    conditions = []
    params = []
    for word in words:
        condition = "i.search_text LIKE %s ESCAPE '!'"
        params.append(f"%{sections.like(word)}%")
        if word.startswith("@") and len(word) > 1:
            condition = f"({condition} OR i.handle LIKE %s ESCAPE '!')"
            params.append(f"{sections.like(word[1:])}%")
        conditions.append(condition)
    return sections.every(conditions), params


def _rank(q: str, words: list[str]) -> tuple[str, list[str]]:
    """0 for the exact handle, then its prefix, every word in the name, in the skills, anywhere."""
    if not words:
        return "0", []
    name, name_params = _within(words, sections.NAME, sections.SKILLS)
    skill, skill_params = _within(words, sections.SKILLS, sections.DESCRIPTION)
    whole = sections.fold(q).strip().removeprefix("@")
    rank = (
        "CASE WHEN i.handle = %s THEN 0 WHEN i.handle LIKE %s ESCAPE '!' THEN 1"
        f" WHEN {name} THEN 2 WHEN {skill} THEN 3 ELSE 4 END"
    )
    return rank, [handles.read(whole) or "", f"{sections.like(whole)}%", *name_params, *skill_params]


def _where(wanted: Search, words: list[str]) -> tuple[str, list[Any]]:
    where = ""
    params: list[Any] = []
    if words:
        anywhere, patterns = _anywhere(words)
        where += f" AND {anywhere}"
        params += patterns
    if wanted.skill is not None:
        where += (
            " AND EXISTS (SELECT 1 FROM identities_skill s WHERE s.identity_id = i.number AND s.slug = %s)"
        )
        params.append(wanted.skill.lower())
    if wanted.active_within is not None:
        where += " AND p.seen_at >= %s"
        params.append(times.now() - timedelta(hours=wanted.active_within))
    return where, params


def _after(scope: str, cursor: str | None) -> tuple[str, list[Any]]:
    if cursor is None:
        return "", []
    rank, active, number = paging.unseal(scope, cursor)
    moment = times.read(active)
    return (
        " WHERE rank > %s OR (rank = %s AND (active < %s OR (active = %s AND number > %s)))",
        [rank, rank, moment, moment, number],
    )
