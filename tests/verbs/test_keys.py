"""Keys: any line of text, stored and shown unchanged, in the same order on every database."""

import io

import pytest

from rowlock import Engine
from rowlock.errors import Invalid, InvalidKey

IN_ORDER = [
    " ",
    " leading",
    '"quoted"',
    "%s %(key)s :key $1 ? \\",
    "'; drop table rowlock_items; --",
    "../..",
    "/a/b//c",
    "10",
    "9",
    "B",
    "[1, null]",
    "\\u0041",
    "a",
    "a\tb",
    "a b",
    "aa",
    "b",
    "e\u0301",
    "null",
    "trailing ",
    "x" * 512,
    "{}",
    "\x7f",
    "\x85",
    "\u00e9",
    "\u2028",
    "日本語",
    "\ufeffmark",
    "\uffff",
    "👩‍👩‍👧",
    "🦊",
    "\U0010ffff",
]
WRONG = {
    "": "is empty",
    "a\0b": "a NUL character",
    "a\nb": "a line break",
    "a\rb": "a carriage return",
    "caf\udce9": "a lone surrogate",
    "x" * 513: "is 513 bytes long",
    "é" * 257: "is 514 bytes long",
}
VERBS = ("increment", "done", "abandon", "retry")


class Text(str):
    """A kind of text, as numpy and others have them."""


def test_keys_are_kept_unchanged_and_come_in_byte_order(engine: Engine) -> None:
    engine["odd"].add(reversed(IN_ORDER))
    assert [item.key for item in engine["odd"]] == IN_ORDER == sorted(IN_ORDER, key=str.encode)


def test_keys_of_mappings_are_kept_unchanged_and_come_in_byte_order(engine: Engine) -> None:
    engine["odd"].add({"key": key, "data": key} for key in IN_ORDER)
    assert [(item.key, item.data) for item in engine["odd"]] == [(key, key) for key in IN_ORDER]


def test_paging_one_by_one_meets_every_key_once(engine: Engine) -> None:
    engine["odd"].add(IN_ORDER)
    assert [item.key for item in engine["odd"].items(page=1)] == IN_ORDER


def test_every_key_can_be_shown(engine: Engine) -> None:
    engine["odd"].add(IN_ORDER)
    assert [engine["odd"].show(key).key for key in IN_ORDER] == IN_ORDER


@pytest.mark.parametrize("verb", ["increment", "done"])
def test_every_key_is_found_again(engine: Engine, verb: str) -> None:
    engine["odd"].add(IN_ORDER)
    assert getattr(engine["odd"], verb)(IN_ORDER) == len(IN_ORDER)


def test_every_delayed_key_can_be_retried(engine: Engine) -> None:
    engine["odd"].add(IN_ORDER, due="1h")
    assert engine["odd"].retry(IN_ORDER) == len(IN_ORDER)


def test_different_spellings_of_one_letter_are_different_keys(engine: Engine) -> None:
    assert engine["odd"].add(["\u00e9", "e\u0301"]).added == 2


def test_a_subclass_of_text_is_a_key_like_any_other(engine: Engine) -> None:
    engine["odd"].add([Text("a"), "b"])
    assert (engine["odd"].increment(Text("a")), engine["odd"].done([Text("b")])) == (1, 1)


@pytest.mark.parametrize(("key", "why"), WRONG.items(), ids=range(len(WRONG)))
def test_a_wrong_key_among_good_ones_is_named_with_its_line_and_nothing_is_added(
    engine: Engine, key: str, why: str
) -> None:
    with pytest.raises(InvalidKey, match=why) as refusal:
        engine["odd"].add(["good", "fine", key, "well"])
    assert (refusal.value.fields.get("line"), engine.lists()) == (3, [])


@pytest.mark.parametrize("key", WRONG, ids=range(len(WRONG)))
def test_a_wrong_key_alone_is_refused(sqlite_url: str, key: str) -> None:
    with Engine(sqlite_url) as engine:
        with pytest.raises(InvalidKey):
            engine["odd"].add(key)
        assert engine.lists() == []


@pytest.mark.parametrize("key", WRONG, ids=range(len(WRONG)))
def test_a_wrong_key_in_a_mapping_is_refused(sqlite_url: str, key: str) -> None:
    with Engine(sqlite_url) as engine:
        with pytest.raises(InvalidKey, match="line 2"):
            engine["odd"].add(["good", {"key": key}])
        assert engine.lists() == []


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("key", WRONG, ids=range(len(WRONG)))
def test_a_wrong_key_is_refused_by_every_verb_and_nothing_is_written(sqlite_url: str, verb: str, key: str) -> None:
    with Engine(sqlite_url) as engine:
        engine["odd"].add("good")
        before = engine["odd"].show("good")
        with pytest.raises(InvalidKey, match="line 2"):
            getattr(engine["odd"], verb)(["good", key])
        assert engine["odd"].show("good") == before


@pytest.mark.parametrize("key", ["a\0b", "caf\udce9"])
def test_a_key_that_no_list_can_have_cannot_be_shown(engine: Engine, key: str) -> None:
    engine["odd"].add("good")
    with pytest.raises(Invalid):
        engine["odd"].show(key)


@pytest.mark.parametrize("key", ["a\0b", "caf\udce9"])
def test_a_page_after_what_no_key_can_be_is_refused(engine: Engine, key: str) -> None:
    engine["odd"].add("good")
    with pytest.raises(Invalid):
        engine["odd"].page(after=key)


@pytest.mark.parametrize("key", ["a\0b", "caf\udce9"])
def test_failures_of_what_no_key_can_be_are_refused(engine: Engine, key: str) -> None:
    engine["odd"].add("good")
    with pytest.raises(Invalid):
        engine["odd"].failures(key)


@pytest.mark.parametrize("what", [7, None, b"bytes", [7], [None], [b"bytes"], [["a"]], [{"name": "a"}], [{}]])
def test_what_is_no_key_is_refused(engine: Engine, what: object) -> None:
    with pytest.raises(Invalid):
        engine["odd"].add(what)
    assert engine.lists() == []


def test_an_unknown_field_of_a_mapping_is_named(engine: Engine) -> None:
    with pytest.raises(Invalid, match="'prio'"):
        engine["odd"].add([{"key": "a", "prio": 3}])


def test_lines_of_a_file_are_keys_without_their_ends(engine: Engine) -> None:
    engine["odd"].add(io.StringIO("\nb\r\n\n a b \nc"))
    assert [item.key for item in engine["odd"]] == [" a b ", "b", "c"]


def test_a_file_of_blanks_adds_nothing(engine: Engine) -> None:
    assert engine["odd"].add(io.StringIO("\n  \n\t\n")).added == 0


def test_lines_of_a_binary_file_are_read_as_utf8(engine: Engine) -> None:
    engine["odd"].add(io.BytesIO("é\n🦊\n".encode()))
    assert [item.key for item in engine["odd"]] == ["é", "🦊"]


def test_a_binary_file_that_is_not_utf8_is_refused_by_its_line(engine: Engine) -> None:
    with pytest.raises(InvalidKey, match="line 2"):
        engine["odd"].add(io.BytesIO(b"good\ncaf\xe9\n"))
    assert engine.lists() == []


def test_a_text_file_that_is_not_utf8_is_refused(engine: Engine) -> None:
    with pytest.raises(InvalidKey, match="UTF-8"):
        engine["odd"].add(io.TextIOWrapper(io.BytesIO(b"good\ncaf\xe9\n"), encoding="utf-8"))
    assert engine.lists() == []


def test_the_line_of_a_wrong_key_counts_blank_lines_too(engine: Engine) -> None:
    with pytest.raises(InvalidKey, match="line 4"):
        engine["odd"].add(io.StringIO("a\n\nb\nx\0y\n"))
