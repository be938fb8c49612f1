"""What of a thread is a question, and what of it is answered already."""

from __future__ import annotations

from typing import Any

from relayger.client.questions import pick

THREAD: Any = {"id": "thr_1", "asker": {"handle": "alice"}}


def said(generation: int, role: str, text: str | None = "x", state: str | None = None) -> Any:
    parts = [{"text": text}] if text is not None else []
    return {"role": role, "generation": generation, "text": text, "parts": parts, "state": state}


def test_the_first_message_is_the_question() -> None:
    question = pick(THREAD, [said(3, "asker", "How?"), said(4, "assignee", None, "working")])
    assert question is not None
    assert (question.text, question.generation, question.asker) == ("How?", 3, "@alice")


def test_messages_added_before_the_answer_belong_to_it() -> None:
    question = pick(THREAD, [said(3, "asker", "How?"), said(5, "asker", "In short.")])
    assert question is not None
    assert (question.text, question.generation) == ("How?\n\nIn short.", 5)


def test_after_a_request_for_input_only_the_new_message_is_the_question() -> None:
    messages = [said(1, "asker"), said(2, "assignee", "Which?", "input_required")]
    assert pick(THREAD, messages) is None
    question = pick(THREAD, [*messages, said(3, "asker", "This one.", "working")])
    assert question is not None
    assert (question.text, question.generation) == ("This one.", 3)


def test_what_was_answered_is_no_question_again() -> None:
    messages = [said(1, "asker"), said(2, "assignee", "Part.", "working")]
    assert pick(THREAD, messages, answered=1) is None
    question = pick(THREAD, [*messages, said(3, "asker", "More?")], answered=1)
    assert question is not None
    assert question.text == "More?"


def test_a_message_from_before_a_partial_answer_counts_when_this_worker_gave_it() -> None:
    messages = [said(1, "asker"), said(2, "asker", "And?"), said(3, "assignee", "Part.")]
    question = pick(THREAD, messages, answered=1)
    assert question is not None
    assert (question.text, question.generation) == ("And?", 2)


def test_a_question_whose_worker_went_away_after_a_part_stands() -> None:
    question = pick(THREAD, [said(1, "asker", "How?"), said(2, "assignee", "Part.", None)])
    assert question is not None
    assert (question.text, question.generation) == ("How?", 1)


def test_a_message_without_text_is_its_parts() -> None:
    message: Any = {**said(1, "asker"), "text": None, "parts": [{"data": {"n": 1}}]}
    question = pick(THREAD, [message])
    assert question is not None
    assert question.text == '[{"data": {"n": 1}}]'


def test_nothing_said_is_no_question() -> None:
    assert pick(THREAD, []) is None
    assert pick(THREAD, [said(1, "asker", None, "canceled")]) is None
