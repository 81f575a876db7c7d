"""Names and keys: what they may be, and which one was probably meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlock.errors import InvalidKey, InvalidName
from rowlock.names import all_simple_keys, check_key, check_keys, check_name, closest

TEXT = st.text(st.characters(exclude_categories=()))


@given(TEXT)
def test_a_key_is_good_exactly_if_it_is_a_line_of_text_of_512_bytes(key: str) -> None:
    whole = not any("\ud800" <= character <= "\udfff" for character in key)
    assert accepted(key) == (whole and 0 < len(key.encode()) <= 512 and not set(key) & set("\0\r\n"))


def accepted(key: str) -> bool:
    try:
        check_key(key)
    except InvalidKey:
        return False
    return True


@given(st.lists(st.text(max_size=130)))
def test_what_looks_good_at_a_glance_is_good(keys: list[str]) -> None:
    assert not all_simple_keys(keys) or all(map(accepted, keys))


@given(st.lists(st.text(max_size=130)))
def test_a_batch_is_refused_exactly_if_one_of_it_is(keys: list[str]) -> None:
    assert accepted_all(keys) == all(map(accepted, keys))


def accepted_all(keys: list[str]) -> bool:
    try:
        check_keys(keys)
    except InvalidKey:
        return False
    return True


def test_a_long_wrong_key_is_cut_in_the_error() -> None:
    with pytest.raises(InvalidKey) as refusal:
        check_key("x" * 10_000)
    assert len(str(refusal.value)) < 250


def test_a_wrong_key_is_shown_so_that_a_terminal_survives_it() -> None:
    with pytest.raises(InvalidKey) as refusal:
        check_key("\x1b[31m\0\u202e")
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("name", ["a", "a b", "downloads/2024", "é", "🦊", "x" * 200, "a.b-c_d:e"])
def test_a_name_that_can_be_one_is_accepted(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a ", "a\tb", "a\n", "a*", "*", "x" * 201, "é" * 101, "\ud800", "\u202e", 7, None]
)
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(InvalidName) as refusal:
        check_name(name)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("name", "meant"), [("dowloads", "downloads"), ("Downloads", "downloads"), ("zebra", None), ("", None)]
)
def test_the_name_that_was_probably_meant_is_found(name: str, meant: str | None) -> None:
    assert closest(name, ["downloads", "uploads", "work"]) == meant
