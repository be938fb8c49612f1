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
from apps.identities.queries import Profile, SkillView, read_who, skills_of

_COLUMNS = (
    "i.number, i.handle, i.kind, i.display_name, i.description, i.listed, i.created_at, i.updated_at, c.state"
)
_LIVE = "i.deleted_at IS NULL AND i.suspended_at IS NULL"
_VIEWED = " LEFT JOIN contacts_contact c ON c.owner_id = %s AND c.other_id = i.number"
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)  # when the never seen were active
_CHUNK = 100  # SQLite bounds how deep a chain of ANDs may nest


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for: every word of `q`, a skill's slug, activity within some hours."""

    q: str = ""
    skill: str | None = None
    active_within: int | None = None


def profile(viewer: Actor | None, who: str) -> Profile:
    """What `viewer` may see of an identity: listed ones, contacts, oneself. Raises not_found for all others.

    One statement, hidden and absent alike, and one more for the skills of one that may be seen.
    """
    me = viewer.identity if viewer else 0
    read = read_who(who) or 0
    column = "number" if isinstance(read, int) else "handle"
    found = db.row(
        f"SELECT {_COLUMNS} FROM identities_identity i{_VIEWED} WHERE i.{column} = %s AND {_LIVE}"
        " AND (i.listed OR i.number = %s OR c.state IS NOT NULL)",
        [me, read, me],
    )
    if found is None:
        raise not_found("identity")
    return _profile(found, skills_of([found[0]]))


def search(viewer: Actor | None, wanted: Search, limit: int, cursor: str | None) -> Page[Profile]:
    """A page of listed agents that match: best first, then by activity. Two statements.

    Raises invalid for a cursor of another search.
    """
    scope = f"directory:{wanted}"
    rank, rank_params = _rank(wanted.q)
    where, params = _where(wanted)
    after, after_params = _after(scope, cursor)
    found = db.rows(
        f"SELECT * FROM (SELECT {_COLUMNS}, {rank} AS rank, COALESCE(p.seen_at, %s) AS active"
        f" FROM identities_identity i{_VIEWED} LEFT JOIN identities_presence p ON p.identity_id = i.number"
        f" WHERE i.listed AND i.kind = 'agent' AND {_LIVE}{where}) found{after}"
        " ORDER BY rank, active DESC, number LIMIT %s",
        [*rank_params, _NEVER, viewer.identity if viewer else 0, *params, *after_params, limit + 1],
    )
    page = paging.cut(found, limit, scope, lambda row: (row[9], times.show(db.time(row[10])), row[0]))
    skills = skills_of([row[0] for row in page.items])
    return Page([_profile(row, skills) for row in page.items], page.next_cursor)


def _profile(row: tuple[Any, ...], skills: dict[int, tuple[SkillView, ...]]) -> Profile:
    return Profile(
        ref=Ref(*row[:4]),
        description=row[4],
        skills=skills.get(row[0], ()),
        listed=bool(row[5]),
        created_at=db.time(row[6]),
        updated_at=db.time(row[7]),
        contact=row[8],
    )


def _words(q: str) -> list[str]:
    return list(dict.fromkeys(sections.fold(q).split()))


def _like(text: str) -> str:
    """`text` for a LIKE pattern that escapes with `!`."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _within(words: list[str], start: str, end: str) -> tuple[str, list[str]]:
    """A condition that every word stands between two marks of the search text."""
    parts = [
        " AND ".join(["i.search_text LIKE %s ESCAPE '!'"] * len(words[at : at + _CHUNK]))
        for at in range(0, len(words), _CHUNK)
    ]
    return (
        " AND ".join(f"({part})" for part in parts),
        [f"%{start}%{_like(word)}%{end}%" for word in words],
    )


def _rank(q: str) -> tuple[str, list[str]]:
    """0 for the exact handle, then its prefix, every word in the name, in the skills, anywhere."""
    words = _words(q)
    if not words:
        return "0", []
    name, name_params = _within(words, sections.NAME, sections.SKILLS)
    skill, skill_params = _within(words, sections.SKILLS, sections.DESCRIPTION)
    whole = sections.fold(q).strip().removeprefix("@")
    rank = (
        "CASE WHEN i.handle = %s THEN 0 WHEN i.handle LIKE %s ESCAPE '!' THEN 1"
        f" WHEN {name} THEN 2 WHEN {skill} THEN 3 ELSE 4 END"
    )
    return rank, [handles.read(whole) or "", f"{_like(whole)}%", *name_params, *skill_params]


def _where(wanted: Search) -> tuple[str, list[Any]]:
    where = ""
    params: list[Any] = []
    words = [word.removeprefix("@") or word for word in _words(wanted.q)]
    if words:
        anywhere, patterns = _within(words, "", "")
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
