"""A command as it was written, and as it is run; names of files for keys."""

import subprocess

import pytest
from tests.sample_items import claimed_item

from rowlock import Invalid, Item
from rowlock.worker.exec.command_template import CommandTemplate
from rowlock.worker.exec.output_files import safe_name
from rowlock.worker.exec.placeholders import MissingField, refuse_unknown

DATA = '{"size": 3, "by": {"name": "Ann"}, "tags": ["x"]}'


def item(key: str, attempts: int = 0) -> Item:
    return claimed_item(key, list="names", attempts=attempts)


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        ("{}", "img/a b.tar.gz"),
        ("small/{name}", "small/a b.tar.gz"),
        ("{stem}.png", "a b.tar.png"),
        ("{list}-{attempt}", "names-3"),
        ("{}{}", "img/a b.tar.gzimg/a b.tar.gz"),
        ("{.}|{/}|{/.}|{//}", "img/a b.tar|a b.tar.gz|a b.tar|img"),
        ("{#}-{%}", "7-2"),
        ("{size}, {data.size}, {data.by.name}, {data.tags.0}", "3, 3, Ann, x"),
        ("{{}}{{name}}{{size}}", "{}{name}{size}"),
        ("{ }", "{ }"),
    ],
)
def test_a_place_in_a_word_is_filled_in(word: str, filled: str) -> None:
    given = claimed_item("img/a b.tar.gz", list="names", attempts=2, data=DATA)
    assert CommandTemplate((word, "{#}")).filled([given], number=7, slot=2) == [filled, "7"]


def test_a_batch_stands_where_its_key_would() -> None:
    template = CommandTemplate(("mv", "{}", "to/{name}", "{list}"), batch=True)
    assert template.filled([item("a"), item("x/b")]) == ["mv", "a", "x/b", "to/a", "to/b", "names"]


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        (CommandTemplate(("cat",)), ["cat", "a b"]),
        (CommandTemplate(("cat", "{#}")), ["cat", "1"]),
        (CommandTemplate(("cat",), stdin=True), ["cat"]),
        (CommandTemplate(("cat",), shell=True), ["/bin/sh", "-c", 'cat "${1}"', "rowlock", "a b"]),
        (CommandTemplate(("cat $ROWLOCK_KEY",), shell=True), ["/bin/sh", "-c", "cat $ROWLOCK_KEY", "rowlock"]),
    ],
)
def test_without_a_placeholder_the_key_is_the_last_word(template: CommandTemplate, filled: list[str]) -> None:
    assert template.filled([item("a b")]) == filled


@pytest.mark.parametrize("line", ["cat;", "cat &", "cat | sort", "(cat)", "cat\\", "cat #"])
def test_a_line_after_which_a_key_would_be_a_command_is_refused(line: str) -> None:
    with pytest.raises(Invalid, match="does not say where the key goes"):
        CommandTemplate((line,), shell=True)


@pytest.mark.parametrize(
    ("word", "meant"), [("{nme}", "{name}"), ("a/{attemps}", "{attempt}"), ("{key}", "{}"), ("{siez}", "{size}")]
)
def test_an_unknown_placeholder_is_refused_with_the_closest_name(word: str, meant: str) -> None:
    with pytest.raises(Invalid) as caught:
        refuse_unknown(CommandTemplate(("echo", word)).fields, [claimed_item("a", data=DATA)])
    assert f"did you mean {meant}?" in caught.value.hint


def test_a_field_that_some_items_have_is_missing_in_others() -> None:
    template = CommandTemplate(("echo", "{size}"))
    with_size, without = claimed_item("a", data=DATA), item("b")
    refuse_unknown(template.fields, [with_size, without])
    with pytest.raises(MissingField, match="the data of 'b' has no field 'size'"):
        template.filled([without])


@pytest.mark.parametrize("word", ["${nme}", "{a,b}", '{"nme":1}', "{{.Names}}", "{print $1}"])
def test_what_is_like_none_of_ours_is_the_commands_own(word: str) -> None:
    assert CommandTemplate(("echo", word)).filled([item("a")]) == ["echo", word, "a"]


@pytest.mark.parametrize("words", [(), ("",)])
def test_no_command_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(Invalid, match="no command"):
        CommandTemplate(words)


def test_what_a_batch_cannot_know_is_refused() -> None:
    with pytest.raises(Invalid, match="attempt"):
        CommandTemplate(("echo", "{attempt}"), batch=True)


@pytest.mark.parametrize(
    "key", ["plain", "two  words", "$(touch oops)", "`oops`", "it's", 'a "b"', "; oops", "*", "-n"]
)
@pytest.mark.parametrize("line", ["printf %s {}", 'printf %s "{}"', "printf %s '{}'"])
def test_no_key_is_read_as_a_command(key: str, line: str) -> None:
    command = CommandTemplate((line,), shell=True).filled([item(key)])
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == key


def test_a_batch_in_a_shell_is_all_its_parameters() -> None:
    command = CommandTemplate(("printf '<%s>' {}",), shell=True, batch=True).filled([item("a b"), item("c")])
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "<a b><c>"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("a/b c", "a%2Fb c"),
        ("../x", "%2E.%2Fx"),
        ("..", "%2E."),
        ("100%", "100%25"),
        ("tab\there", "tab%09here"),
        ("\N{GRINNING FACE}", "\N{GRINNING FACE}"),
    ],
)
def test_a_key_makes_a_safe_name(key: str, name: str) -> None:
    assert safe_name(key) == name


def test_long_keys_make_short_names_that_differ() -> None:
    names = {safe_name("é" * 255 + last) for last in "ab"}
    assert len(names) == 2
    assert max(len(name.encode()) for name in names) < 250
