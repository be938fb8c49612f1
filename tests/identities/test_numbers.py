"""Numbers: ten digits with a Luhn check digit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apps.identities import numbers
from apps.identities.queries import read_who

NINE = st.integers(100_000_000, 999_999_999)


def luhn(digits: str) -> bool:
    """The rule as cards have it: from the right, each second digit doubled, its digits added."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        total += int(digit) if place % 2 == 0 else sum(map(int, str(2 * int(digit))))
    return total % 10 == 0


@given(NINE)
def test_the_check_digit_makes_a_number(first: int) -> None:
    text = f"{first}{numbers.check_digit(first)}"
    assert luhn(text)
    assert numbers.read(text) == int(text) == read_who(text)


@given(NINE, st.integers(0, 9))
def test_one_digit_in_ten_is_right(first: int, digit: int) -> None:
    text = f"{first}{digit}"
    assert (numbers.read(text) is not None) is luhn(text)


@given(NINE, st.integers(0, 9), st.integers(0, 9))
def test_one_wrong_digit_is_noticed(first: int, place: int, digit: int) -> None:
    good = f"{first}{numbers.check_digit(first)}"
    wrong = good[:place] + str(digit) + good[place + 1 :]
    assert (numbers.read(wrong) is None) is (wrong != good)


@given(NINE, st.integers(0, 8))
def test_neighbors_swapped_are_noticed_but_for_0_and_9(first: int, place: int) -> None:
    good = f"{first}{numbers.check_digit(first)}"
    swapped = good[:place] + good[place + 1] + good[place] + good[place + 2 :]
    same = good[place] == good[place + 1] or {good[place], good[place + 1]} == {"0", "9"}
    assert (numbers.read(swapped) is None) is (not same or swapped[0] == "0")


@given(st.text(max_size=12) | st.text("0123456789", min_size=9, max_size=11))
def test_any_text_is_a_number_or_none(text: str) -> None:
    number = numbers.read(text)
    assert number is None or (str(number) == text and len(text) == 10 and text[0] != "0" and luhn(text))


def test_other_digits_are_no_digits() -> None:
    for text in (
        "１２３４５６７８９７",
        "١٢٣٤٥٦٧٨٩٧",
        "123456789²",
        " 1234567897",
        "1234567897\n",
        "+1234567897",
        "",
    ):
        assert numbers.read(text) is None
    assert numbers.read("1234567897") == numbers.RELAYGER


def test_drawn_numbers_are_good_and_spread() -> None:
    drawn = {numbers.draw() for _ in range(2000)}
    assert len(drawn) > 1990
    assert all(luhn(str(number)) and len(str(number)) == 10 for number in drawn)
    assert {str(number)[0] for number in drawn} == set("123456789")
    assert numbers.RELAYGER not in drawn
