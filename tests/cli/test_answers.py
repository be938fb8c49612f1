"""What @relayger answers with."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from relayger.answers import MAX_PASSAGE, Answers, read, words

GUIDE = """# Agent guide

How agents live here.

## Leases

A worker takes a lease on a thread. Renew the lease in time:

```sh
# Not a heading
relayger worker -- cat
```

## Public rooms

Everybody may read a public room. See [errors](errors.md#not-found) and [the site](https://example.com/a.md).

- join it
- leave it
  with a note

## Leases

The second one of that name speaks of PostgreSQL and `lease_lost`.

## Empty
"""
ERRORS = """# Errors

| code | meaning |
| --- | --- |
| `not_found` | There is none. |
"""


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    (tmp_path / "guide.md").write_text(GUIDE)
    (tmp_path / "errors.md").write_text(ERRORS)
    (tmp_path / "openapi.yaml").write_text("rooms: everywhere")
    return Answers(tmp_path, "http://service.test/")


def test_title_passage_and_link(answers: Answers) -> None:
    answer = answers.answer("How do public rooms work?")
    title, rest = answer.split("\n\n", 1)
    assert title == "Public rooms"
    assert rest.startswith("Everybody may read a public room.")
    assert answer.endswith("\n\nhttp://service.test/docs/guide#public-rooms")


def test_links_between_pages_work_from_anywhere(answers: Answers) -> None:
    answer = answers.answer("public rooms")
    assert "[errors](http://service.test/docs/errors#not-found)" in answer
    assert "[the site](https://example.com/a.md)" in answer


@pytest.mark.parametrize(
    ("question", "anchor"),
    [
        ("how does LEASING work", "guide#leases"),
        ("What does lease_lost mean?", "guide#leases-1"),
        ("does it run on postgres", "guide#leases-1"),
        ("what is not_found", "errors#errors"),
        ("\uff30ublic \uff52oom", "guide#public-rooms"),
        ("can agents live", "guide#agent-guide"),
    ],
)
def test_the_best_section_is_found(question: str, anchor: str, answers: Answers) -> None:
    assert answers.answer(question).endswith(f"/docs/{anchor}")


def test_code_comes_with_what_introduces_it(answers: Answers) -> None:
    answer = answers.answer("renew a lease in time")
    assert "Renew the lease in time:\n\n```sh\n# Not a heading\nrelayger worker -- cat\n```" in answer


@pytest.mark.parametrize(
    "question", ["", "hello", "how is the weather", "?!", "\0\ud800", "说中文", "a" * 30_000]
)
def test_nothing_found_names_the_topics(question: str, answers: Answers) -> None:
    answer = answers.answer(question)
    assert "Agent guide" in answer
    assert "Errors" in answer
    assert answer.endswith("http://service.test/docs")


def test_one_word_in_passing_is_no_answer(answers: Answers) -> None:
    assert "found nothing" in answers.answer("the weather in paris, london, rome, oslo, berlin and rooms")


def test_no_docs_at_all(tmp_path: Path) -> None:
    assert Answers(tmp_path / "absent", "http://service.test").answer("rooms").endswith("/docs")


def test_a_long_passage_is_cut_and_its_code_closed(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# Zebra\n\n```\n" + "zebra stripes\n" * 500 + "```\n\n## Yak\n\n" + "yak wool " * 500
    )
    answers = Answers(tmp_path, "http://x")
    for question in ("zebra", "yak"):
        passage = answers.answer(question).split("\n\n", 1)[1].rsplit("\n\n", 1)[0]
        assert MAX_PASSAGE // 2 < len(passage) <= MAX_PASSAGE
        assert passage.endswith("…")
        assert passage.count("```") % 2 == 0


def test_an_empty_section_is_left_out() -> None:
    assert [section.title for section in read("guide", GUIDE)] == [
        "Agent guide",
        "Leases",
        "Public rooms",
        "Leases",
    ]


def test_words_meet_in_their_forms() -> None:
    assert words("registering") == words("Registers") == words("registered")
    assert words("messages") == words("messaging") == words("Message")
    assert words("lease_lost")[-1] == "lease_lost"


def test_an_answer_takes_no_time(tmp_path: Path) -> None:
    for page in range(20):
        text = "".join(f"## Topic {page} {n}\n\nleases and rooms and threads {n}\n\n" for n in range(50))
        (tmp_path / f"page{page}.md").write_text(f"# Page {page}\n\n{text}")
    answers = Answers(tmp_path, "http://x")
    question = "how do leases and rooms and threads go together on topic 7 " * 20
    began = time.perf_counter()
    for _ in range(20):
        answers.answer(question)
    assert (time.perf_counter() - began) / 20 < 0.05  # about 2 ms on an idle core; others share this one
