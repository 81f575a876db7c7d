"""Command templates: a command as it was written, and as it is run for given items."""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

import msgspec

from rowlock.errors import Invalid
from rowlock.model import Item
from rowlock.names import closest
from rowlock.worker.exec.shell_injection import refuse_code

_FIELD = re.compile(r"\{((?<!\$\{)(?:name|stem|attempt|list)|)\}")
"""A placeholder; `${name}` is a variable of a shell."""
_LIKE_A_FIELD = re.compile(r"(?<!\$)\{([a-z]+)\}")
_OF_A_KEY = ("", "name", "stem")
_OF_ONE_ITEM = ("attempt",)
_SHELL = "/bin/sh"


def _name(item: Item) -> str:
    return PurePosixPath(item.key).name or item.key


_FIELDS: dict[str, Callable[[Item], str]] = {
    "": lambda item: item.key,
    "name": _name,
    "stem": lambda item: PurePosixPath(_name(item)).stem,
    "attempt": lambda item: str(item.attempts + 1),
    "list": lambda item: item.list,
}


class CommandTemplate(msgspec.Struct, frozen=True):
    """A command's words, with placeholders for an item's key, name, stem, attempt and list."""

    words: tuple[str, ...]
    shell: bool = False
    """Whether the words are one line for a shell."""
    batch: bool = False
    """Whether one command gets many items."""

    def __post_init__(self) -> None:
        if not self.words or not self.words[0]:
            raise Invalid("no command was given", "put it after --, as in: rowlock work LIST -- curl -fsSO {}")
        for word in self.words:
            _refuse_misspelt(word)
        wrong = self._fields & (
            set(_OF_ONE_ITEM) | ({"name", "stem"} if self.shell else set()) if self.batch else set()
        )
        if wrong:
            what = f"{{{min(wrong)}}} cannot be filled in for a batch{' in a shell' if self.shell else ''}"
            raise Invalid(what, "a batch knows {} and {list}; or leave --batch out")
        if self.shell:
            refuse_code(" ".join(self.words))

    @property
    def _fields(self) -> set[str]:
        return {field for word in self.words for field in _FIELD.findall(word)}

    @property
    def on_stdin(self) -> bool:
        """Whether the command reads the keys from standard input: no placeholder names them."""
        return not self._fields & set(_OF_A_KEY)

    @property
    def program(self) -> str | None:
        """The program that runs; None if it depends on the item."""
        return _SHELL if self.shell else None if _FIELD.search(self.words[0]) else self.words[0]

    def filled(self, items: Sequence[Item]) -> list[str]:
        """Return the command for these items."""
        if self.shell:
            return self._in_shell(items)
        return [filled for word in self.words for filled in _filled(word, items)]

    def _in_shell(self, items: Sequence[Item]) -> list[str]:
        # Values are passed as parameters, never as text of the line: the shell reads no key as a command.
        fields = ("",) if self.batch else tuple(_FIELDS)
        places = {"": "$@"} if self.batch else {field: f"${number}" for number, field in enumerate(fields, 1)}
        line = _quoted(" ".join(self.words), {**places, "list": "$ROWLOCK_LIST"})
        return [_SHELL, "-c", line, "rowlock", *[_FIELDS[field](item) for item in items for field in fields]]


def _refuse_misspelt(word: str) -> None:
    # Other braces belong to the command: '{print}' of awk, '${name}' of a shell.
    for name in _LIKE_A_FIELD.findall(word):
        meant = "" if name == "key" else name if name in _FIELDS else closest(name, _FIELDS)
        if meant is not None and meant != name:
            raise Invalid(f"unknown placeholder {{{name}}}", f"did you mean {{{meant}}}?")


def _filled(word: str, items: Sequence[Item]) -> list[str]:
    # A word that names keys comes once per item, others once.
    every = items if any(field in _OF_A_KEY for field in _FIELD.findall(word)) else items[:1]
    return [_FIELD.sub(lambda found, item=item: _FIELDS[found[1]](item), word) for item in every]  # type: ignore[misc]


def _quoted(line: str, places: dict[str, str]) -> str:
    """Return the line with a parameter for each placeholder, quoted as its surroundings need."""
    pieces: list[str] = []
    quote, at = "", 0
    while at < len(line):
        found = _FIELD.match(line, at)
        if found:
            pieces.append({"": '"{}"', '"': "{}", "'": "'\"{}\"'"}[quote].format(places[found[1]]))
            at = found.end()
            continue
        step = 2 if line[at] == "\\" and quote != "'" else 1
        if line[at] in "'\"" and quote in ("", line[at]):
            quote = "" if quote else line[at]
        pieces.append(line[at : at + step])
        at += step
    return "".join(pieces)
