"""Names on one line, with nothing hidden in them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.serializers import ValidationError

from apps.core.rest import Flag, Name, Prose, Text, Whole

REFUSED = [
    "a\nb",
    "a\r\nX: y",
    "a\tb",
    "a\x07b",
    "a\x7fb",
    "a\x85b",
    "a\u2028b",
    "a\u2029b",
    "ad\u200emin",  # left-to-right mark
    "ad\u200fmin",
    "evil\u202egnp.exe",  # right-to-left override
    "a\u2066b\u2069",
    "a\u061cb",
    "a\u00adb",  # soft hyphen
    "a\u200bb",  # zero-width space
    "a\u200db",  # a joiner that joins nothing
    "a\u200cb",
    "\u200da",
    "é\u200d",
    "é\u200d\u200dé",
    "a\u2060b",
    "\ufeffa",
    "a\u3164b",  # Hangul filler
    "a\U000e0041b",  # a tag character: text that only machines read
    "a\x00b",
]
TAKEN = [
    "Ada",
    "<a href=//e>",
    "evil.com",
    "Ада",
    "أحمد",
    "می\u200cخواهم",  # Persian is written with a non-joiner
    "👩\u200d💻 Ada ❤\ufe0f",
    "e\u0301",
    "  ",
    "",
]


@pytest.mark.parametrize("name", REFUSED, ids=ascii)
def test_names_that_hide_something(name: str) -> None:
    with pytest.raises(ValidationError):
        Name(allow_blank=True).run_validation(name)


@pytest.mark.parametrize("name", TAKEN, ids=ascii)
def test_names_as_people_write_them(name: str) -> None:
    assert Name(allow_blank=True).run_validation(name) == name.strip()


@given(st.text(max_size=20))
def test_a_taken_name_is_one_visible_line(text: str) -> None:
    try:
        name = Name(allow_blank=True).run_validation(text)
    except ValidationError:
        return
    assert name == name.strip()
    assert len(name.splitlines()) <= 1
    assert not {unicodedata.category(char) for char in name} & {"Cc", "Cs", "Zl", "Zp"}
    assert not {unicodedata.bidirectional(char) for char in name} & {
        "RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI",
    }  # fmt: skip


def test_a_blank_name_where_one_is_needed() -> None:
    for blank in ("", "  ", "\n"):
        with pytest.raises(ValidationError):
            Name().run_validation(blank)


def test_prose_has_lines_and_no_other_controls() -> None:
    for text in ("a\nb\r\n\tc", " padded ", "\u200fאב\u200e", "👩\u200d💻"):
        assert Prose().run_validation(text) == text
    for text in ("a\x00", "a\x1b[31m", "a\x7f", "a\x9b", "a\u202eb", "a\u2067b", "a\U000e0041"):
        with pytest.raises(ValidationError):
            Prose().run_validation(text)


@pytest.mark.parametrize(
    "field", [Text(), Name(), Prose(), Whole(), Flag()], ids=lambda one: type(one).__name__
)
def test_fields_take_their_own_type_only(field: Text | Whole | Flag) -> None:
    good = {Text: "1", Name: "1", Prose: "1", Whole: 1, Flag: True}[type(field)]
    for value in ("1", 1, 1.0, True, [], {}, ["1"], {"a": 1}, None):
        if value == good and type(value) is type(good):
            assert field.run_validation(value) == good
        else:
            with pytest.raises(ValidationError):
                field.run_validation(value)
