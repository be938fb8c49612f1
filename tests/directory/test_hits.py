"""The directory against a plain reading of its rules, the same on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.core import times
from apps.core.errors import Code, DomainError
from apps.directory import queries
from apps.directory.queries import Search
from apps.identities import actions
from apps.identities.models import Identity, Presence, Skill
from tests.contacts.world import statements
from tests.identities.people import actor, number, register

NOW = times.now()

# Words that SQL, patterns or case could stumble over; several agents share each.
TEXTS = [
    "",
    "Engines and steam",
    "100% sure_thing!",
    'o\'brien \\ "quoted" a & | ! b',
    "STRASSE straße ſ",
    "İstanbul ΣΊΣΥΦΟΣ ﬁne",
    "日本語 テスト",
    "é e\u0301 👩\u200d💻 🎉",
    "tab\tand\nline",
    "x | y | z @home %s %% ?1",
]


@dataclass(frozen=True)
class Agent:
    """What the directory knows of an agent."""

    number: int
    handle: str
    name: str
    description: str
    skills: tuple[str, ...]
    slugs: tuple[str, ...]
    active: datetime | None


def make(place: int) -> Agent:
    """A listed agent whose texts follow from its place."""
    name, description = TEXTS[place % len(TEXTS)], TEXTS[(place * 7 + 3) % len(TEXTS)]
    skill = TEXTS[(place * 3 + 1) % len(TEXTS)].replace("\t", " ").replace("\n", " ")
    slug = f"s{place % 4}"
    made = register(
        handle=f"ag{place}-steam" if place % 3 else f"steam{place}x",
        display_name=name.replace("\t", " ").replace("\n", " "),
        description=description,
        skills=[{"name": skill or "plain", "slug": slug, "description": name, "tags": ["Tag", str(place)]}],
        listed=True,
    )
    ref = made.identity.profile.ref
    active = NOW - timedelta(hours=place % 5, milliseconds=place % 2) if place % 4 else None
    if active:
        Presence.objects.create(identity_id=ref.number, seen_at=active)
    fields = (slug, skill or "plain", name, "Tag", str(place))
    return Agent(ref.number, ref.handle, ref.display_name, description, fields, (slug,), active)


@pytest.fixture(scope="module")
def agents(django_db_setup: None, django_db_blocker: Any) -> Iterator[list[Agent]]:
    """Thirty listed agents, and some that nobody finds; gone with the module."""
    with django_db_blocker.unblock(), transaction.atomic():
        made = [make(place) for place in range(30)]
        register(display_name="Engines", description="steam")  # not listed
        register(kind="human", display_name="Engines", listed=True)
        for field in ("deleted_at", "suspended_at"):
            gone = register(display_name="Engines", listed=True)
            Identity.objects.filter(pk=number(gone)).update(**{field: NOW})
        yield made
        transaction.set_rollback(True)


@pytest.fixture
def _frozen(agents: list[Agent], monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any) -> Iterator[None]:
    """The population, at the moment it was made; what a test adds goes with it."""
    monkeypatch.setattr(times, "now", lambda: NOW)
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


pytestmark = pytest.mark.usefixtures("_frozen")


def expected(agents: list[Agent], wanted: Search) -> list[int]:
    """The rules of the directory, read literally."""
    words = list(dict.fromkeys(wanted.q.casefold().split()))
    whole = wanted.q.casefold().strip().removeprefix("@")

    def within(*texts: str) -> bool:
        return all(any(word in text.casefold() for text in texts) for word in words)

    def hit(agent: Agent) -> bool:
        fields = (agent.handle, agent.name, *agent.skills, agent.description)
        return (
            all(
                any(word in field.casefold() for field in fields)
                or (len(word) > 1 and word[0] == "@" and agent.handle.startswith(word[1:]))
                for word in words
            )
            and (wanted.skill is None or wanted.skill.lower() in agent.slugs)
            and (
                wanted.active_within is None
                or (agent.active is not None and agent.active >= NOW - timedelta(hours=wanted.active_within))
            )
        )

    def rank(agent: Agent) -> int:
        if not words:
            return 0
        ranks = (
            agent.handle == whole,
            agent.handle.startswith(whole) and " " not in whole,
            within(agent.name),
            within(*agent.skills),
            True,
        )
        return ranks.index(True)

    def order(agent: Agent) -> tuple[int, float, int]:
        return rank(agent), -(agent.active.timestamp() if agent.active else 0), agent.number

    return [agent.number for agent in sorted(filter(hit, agents), key=order)]


def found(wanted: Search, limit: int = 100) -> list[int]:
    """All pages of a search."""
    numbers: list[int] = []
    cursor = None
    while True:
        page = queries.search(None, wanted, limit, cursor)
        numbers += [profile.ref.number for profile in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return numbers
        assert len(page.items) == limit


FRAGMENTS = st.sampled_from([word for text in TEXTS for word in text.split()]).flatmap(
    lambda word: st.tuples(st.integers(0, len(word)), st.integers(0, len(word))).map(
        lambda cut: word[min(cut) : max(cut) + 1]
    )
)
ODD = ["ag1", "@ag", "@ag1-steam", "steam", "STEAM", "tag", "%", "_", "!", "\\", "'", "@"]
QUERIES = st.lists(FRAGMENTS | st.sampled_from(ODD), max_size=3).map(" ".join)


@given(
    q=QUERIES, skill=st.sampled_from([None, None, "s1", "S2", "none"]), within=st.none() | st.integers(1, 4)
)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hits_and_order(agents: list[Agent], q: str, skill: str | None, within: int | None) -> None:
    wanted = Search(q, skill, within)
    assert found(wanted) == expected(agents, wanted)


@pytest.mark.parametrize(
    "q",
    [
        "",
        " ",
        "%",
        "_",
        "!",
        "100%",
        "sure_thing",
        "sure%thing",
        "e_gines",
        "'",
        "o'brien",
        "\\",
        '"',
        "a & | !",
        "|",
        "%s",
        "%%",
        "?1",
        "STRASSE",
        "strasse",
        "ß",
        "ΣΊΣΥΦΟΣ",
        "σίσυφος",
        "FINE",
        "İ",
        "日本",
        "👩",
        "🎉🎉",
        "e\u0301",
        "engines steam",
        "steam   engines",
        "engines engines",
        "@ag1-steam",
        "@AG1",
        "@",
        "@@",
        "ag1-steam",
        "steam3x",
        "steam",
        "tag 7",
        "line\tand",
        "\x01",
        "\x02engines",
        "x" * 20_000,
        "%" * 20_000,
        "🎉" * 20_000,
        "ΐ" * 6_000,
        "a " * 10_000,
        " ".join(f"w{place}" for place in range(3_000)),
        " ".join(chr(0x4E00 + place) for place in range(10_000)),
    ],
    ids=lambda q: f"{q!a:.30}, {len(q)}",
)
def test_queries_that_mean_what_they_say(agents: list[Agent], q: str) -> None:
    plain = Search(q.replace("\x01", " ").replace("\x02", " "))
    assert found(Search(q)) == expected(agents, plain)


def test_every_word_of_a_long_description_is_found() -> None:
    words = " ".join(f"{place:x}" for place in range(600))[:2048]
    made = register(handle="long-winded", description=words, listed=True)
    assert found(Search(words)) == [number(made)]
    assert found(Search(f"{words} more")) == []


@pytest.mark.parametrize("limit", [1, 7, 30])
@pytest.mark.parametrize("q", ["", "steam"])
def test_pages_of_any_size_show_the_same(agents: list[Agent], q: str, limit: int) -> None:
    wanted = Search(q)
    assert found(wanted, limit) == expected(agents, wanted)


def test_a_page_is_two_statements_however_large() -> None:
    for wanted, limit in ((Search(), 1), (Search(), 100), (Search("steam engines", "s1", 3), 5)):
        with statements() as made:
            page = queries.search(None, wanted, limit, None)
        assert len(made) <= 2, made
        with statements() as again:
            queries.search(None, wanted, limit, page.next_cursor)
        assert len(again) <= 2


def test_a_cursor_is_good_for_its_search_only() -> None:
    cursor = queries.search(None, Search("steam"), 1, None).next_cursor
    assert cursor
    for other in (Search(), Search("steam", "s1"), Search("steam", None, 1), Search("Steam")):
        with pytest.raises(DomainError) as caught:
            queries.search(None, other, 1, cursor)
        assert (caught.value.code, caught.value.field) == (Code.INVALID, "cursor")


def test_what_is_found_changes_with_the_profile() -> None:
    made = register(handle="changing", display_name="Before", skills=[{"name": "Juggling"}], listed=True)
    me = actor(made)
    assert found(Search("juggling before")) == [number(made)]
    actions.update(me, {"display_name": "After", "skills": [{"name": "Diving"}]})
    assert found(Search("before")) == found(Search("juggling")) == []
    assert found(Search("diving after changing")) == found(Search("", "diving")) == [number(made)]
    actions.update(me, {"handle": "changed"})
    assert found(Search("changing")) == []
    assert found(Search("@changed")) == [number(made)]
    actions.update(me, {"listed": False})
    assert found(Search("changed")) == []
    assert not Skill.objects.filter(identity=number(made), slug="juggling").exists()


def test_words_do_not_reach_across_fields() -> None:
    register(handle="ab-cd", display_name="ef", skills=[{"name": "gh", "tags": ["ij", "kl"]}], listed=True)
    for q in ("cdef", "efgh", "ghij", "ijkl"):
        assert found(Search(q)) == []
