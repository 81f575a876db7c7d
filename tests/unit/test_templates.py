"""A command as it was written, and as it is run; names of files for keys; what a supervisor has to end."""

import subprocess

import pytest
from tests.sample_items import claimed_item

from rowlock import Invalid, Item
from rowlock.worker.exec.commands import CommandTemplate, safe_name
from rowlock.worker.exec.supervisor import left_behind


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
        ("{print}", "{print}"),
        ("{ }", "{ }"),
    ],
)
def test_a_place_in_a_word_is_filled_in(word: str, filled: str) -> None:
    assert CommandTemplate(("echo", word)).filled([item("img/a b.tar.gz", attempts=2)]) == ["echo", filled]


def test_a_batch_stands_where_its_key_would() -> None:
    template = CommandTemplate(("mv", "{}", "to/{name}", "{list}"), batch=True)
    assert template.filled([item("a"), item("x/b")]) == ["mv", "a", "x/b", "to/a", "to/b", "names"]


@pytest.mark.parametrize(("words", "on_stdin"), [(("cat",), True), (("cat", "{}"), False), (("cat", "{list}"), True)])
def test_a_key_that_is_not_named_comes_on_stdin(words: tuple[str, ...], on_stdin: bool) -> None:
    assert CommandTemplate(words).on_stdin is on_stdin


@pytest.mark.parametrize(("word", "meant"), [("{nme}", "{name}"), ("a/{attemps}", "{attempt}"), ("{key}", "{}")])
def test_a_place_that_was_misspelt_is_refused(word: str, meant: str) -> None:
    with pytest.raises(Invalid) as caught:
        CommandTemplate(("echo", word))
    assert meant in caught.value.hint


@pytest.mark.parametrize("word", ["${nme}", "{print}", "{a,b}", '{"nme":1}', "{NME}"])
def test_what_is_like_none_of_ours_is_the_commands_own(word: str) -> None:
    assert CommandTemplate(("echo", word)).filled([item("a")]) == ["echo", word]


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


def test_what_has_begun_and_not_ended_is_left_behind() -> None:
    assert left_behind(["+7\n", "+8\n", "-7\n", "+99"]) == {8}
