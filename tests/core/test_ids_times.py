"""Ids and times as they are shown and read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core import ids, times

# Far enough from the ends of the calendar for any offset.
MOMENTS = st.datetimes(timezones=st.just(UTC)).filter(lambda moment: 1 < moment.year < 9999)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.uuids())
def test_an_id_comes_back(value: UUID) -> None:
    shown = ids.show("thr", value)
    assert shown == f"thr_{value.hex}"
    assert ids.read("thr", shown) == value
    assert ids.read("msg", shown) is None


@given(st.text(max_size=50) | st.from_regex(r"thr_[0-9a-fA-F]{30,34}", fullmatch=True))
def test_what_is_no_id_is_none(text: str) -> None:
    value = ids.read("thr", text)
    assert value is None or ids.show("thr", value) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "thr",
        "thr_",
        "_" + "0" * 32,
        "THR_" + "0" * 32,
        "thr_" + "0" * 31,
        "thr_" + "0" * 33,
        "thr_" + "A" * 32,
        "thr_" + "٠" * 32,
        "thr_" + "0" * 32 + "\n",
        "thr_00000000-0000-0000-0000-000000000000",
    ],
)
def test_other_spellings_are_no_ids(text: str) -> None:
    assert ids.read("thr", text) is None


def test_ids_are_new_and_of_version_7() -> None:
    made = {ids.new() for _ in range(1000)}
    assert len(made) == 1000
    assert {one.version for one in made} == {7}


@given(MOMENTS, OFFSETS)
def test_a_moment_is_shown_in_utc_to_the_millisecond(moment: datetime, offset: timezone) -> None:
    shown = times.show(moment.astimezone(offset))
    assert shown == times.show(moment)
    assert len(shown) == 24
    assert shown.endswith("Z")
    assert times.read(shown) == moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@given(MOMENTS, OFFSETS)
def test_any_offset_is_read(moment: datetime, offset: timezone) -> None:
    assert times.read(moment.astimezone(offset).isoformat()) == moment


@given(st.text(max_size=40) | st.text("0123456789-:.TZ+ ", min_size=16, max_size=40))
def test_any_text_is_a_moment_or_none(text: str) -> None:
    moment = times.read(text)
    assert moment is None or moment.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-31",
        "2026-01-31T12:00:00",  # whose noon?
        "2026-02-30T12:00:00Z",
        "2026-01-31T24:30:00Z",
        "2026-01-31T12:00:60Z",
        "2026-01-31T12:00:00+99:99",
        "0001-01-01T00:00:00+14:00",  # before the first year
        "9999-12-31T23:59:59-14:00",
        "２０２６-01-31T12:00:00Z",
        "1767225600",
        "-2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00Z\n",
        "2026-01-31T12:00:00Z\x00",
    ],
)
def test_what_names_no_moment(text: str) -> None:
    assert times.read(text) is None


def test_now_is_what_will_be_shown() -> None:
    now = times.now()
    assert times.read(times.show(now)) == now
    assert times.show(datetime(1, 2, 3, 4, 5, 6, 7890, UTC)) == "0001-02-03T04:05:06.007Z"
