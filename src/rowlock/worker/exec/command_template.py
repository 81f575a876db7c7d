"""A command's template: its words with placeholders, filled in for an item or a batch."""

import os
import re
import shutil
from collections.abc import Sequence

import msgspec

from rowlock.errors import Invalid
from rowlock.model import Item
from rowlock.worker.exec import placeholders
from rowlock.worker.exec.placeholders import OF_ONE_ITEM, OF_THE_COMMAND, Filling, pieces, value
from rowlock.worker.exec.shell_injection import refuse_code

_SHELL = "/bin/sh"
_NAMES_THE_ITEM = re.compile(r"ROWLOCK_(?:KEY|DATA)\b")
_MORE_THAN_ONE_COMMAND = re.compile(r"[;&|()`\n#]|\\$")


class CommandTemplate(msgspec.Struct, frozen=True):
    """A command's words, with placeholders for an item's key, its parts, data, attempt and list.

    Without a placeholder the key is the last word, as xargs and parallel have it.
    """

    words: tuple[str, ...]
    shell: bool = False
    """Whether the words are one line for a shell."""
    batch: bool = False
    """Whether one command gets many items."""
    stdin: bool = False
    """Whether the command reads the keys from standard input."""

    def __post_init__(self) -> None:
        if not self.words or not self.words[0]:
            raise Invalid("no command was given", "put it after --, as in: rowlock work LIST -- curl -fsSO {}")
        wrong = self._names & set(OF_ONE_ITEM) if self.batch else set()
        if self.batch and self.shell:
            wrong = self._names - {"", *OF_THE_COMMAND}
        if wrong:
            what = f"{{{min(wrong)}}} cannot be filled in for a batch{' in a shell' if self.shell else ''}"
            raise Invalid(what, "a batch knows {} and {list}; or leave --batch out")
        if self.shell:
            refuse_code(self._line)

    @property
    def _names(self) -> set[str]:
        return {name for word in self.words for name in placeholders.names(word)}

    @property
    def fields(self) -> set[str]:
        """The placeholders that are fields of an item's data."""
        return self._names - set(placeholders.VALUES)

    @property
    def _appends_key(self) -> bool:
        in_environment = self.shell and _NAMES_THE_ITEM.search(" ".join(self.words))
        return not self.stdin and not self._names and not in_environment

    @property
    def _words(self) -> tuple[str, ...]:
        return (*self.words, "{}") if self._appends_key else self.words

    @property
    def _line(self) -> str:
        """The line for the shell."""
        line = " ".join(self.words)
        if not self._appends_key:
            return line
        if _MORE_THAN_ONE_COMMAND.search(line):
            what = f"the line {line!r} does not say where the key goes"
            raise Invalid(what, 'put {} or "$ROWLOCK_KEY" there, or give --stdin for the key on standard input')
        return f"{line} {{}}"

    @property
    def program(self) -> str | None:
        """The program that runs; None if it depends on the item."""
        return _SHELL if self.shell else None if placeholders.names(self.words[0]) else self.words[0]

    def filled(self, items: Sequence[Item], *, number: int = 1, slot: int = 1) -> list[str]:
        """Return the command for these items; MissingField if an item's data has no such field."""
        every = [Filling(item, number, slot) for item in items]
        if self.shell:
            return self._in_shell(every)
        return [filled for word in self._words for filled in _filled(word, every)]

    def _in_shell(self, every: Sequence[Filling]) -> list[str]:
        # Values are passed as parameters, never as text of the line: the shell reads no key as a command.
        line = self._line
        of_command = [name for name in dict.fromkeys(placeholders.names(line)) if not self.batch or name]
        places = {name: f"${{{place}}}" for place, name in enumerate(of_command, 1)}
        values = [value(name, every[0]) for name in of_command]
        if not self.batch:
            return [_SHELL, "-c", _quoted(line, places), "rowlock", *values]
        # All parameters are keys: the values of the command itself are variables.
        variables = {name: f"$rowlock_{place}" for place, name in enumerate(of_command, 1)}
        assigned = "".join(f"rowlock_{place}=$1; shift; " for place in range(1, len(of_command) + 1))
        keys = [each.item.key for each in every]
        return [_SHELL, "-c", assigned + _quoted(line, {**variables, "": "$@"}), "rowlock", *values, *keys]


def _filled(word: str, every: Sequence[Filling]) -> list[str]:
    # A word that names keys comes once per item, others once.
    split = pieces(word)
    if split == (("",),):
        return [each.item.key for each in every]
    if len(split) == 1 and isinstance(split[0], str):
        return [split[0]]
    per_item = any(isinstance(piece, tuple) and piece[0] not in OF_THE_COMMAND for piece in split)
    return [
        "".join(piece if isinstance(piece, str) else value(piece[0], each) for piece in split)
        for each in (every if per_item else every[:1])
    ]


def _quoted(line: str, places: dict[str, str]) -> str:
    """Return the line with a parameter for each placeholder, quoted as its surroundings need."""
    written: list[str] = []
    quote, is_escaped = "", False
    for piece in pieces(line):
        if isinstance(piece, str):
            written.append(piece)
            quote, is_escaped = _quote_after(piece, quote)
        elif is_escaped:
            written.append(f"{{{piece[0]}}}")
        else:
            written.append({"": '"{}"', '"': "{}", "'": "'\"{}\"'"}[quote].replace("{}", places[piece[0]]))
    return "".join(written)


def _quote_after(text: str, quote: str) -> tuple[str, bool]:
    """Return which quotation mark is open after a text that began within `quote`, and whether a backslash ends it."""
    at = 0
    while at < len(text):
        if text[at] in "'\"" and quote in ("", text[at]):
            quote = "" if quote else text[at]
        at += 2 if text[at] == "\\" and quote != "'" else 1
    return quote, at > len(text)


def check_program(template: CommandTemplate) -> None:
    """Refuse a command whose program does not exist, before anything is claimed."""
    program = template.program
    whole = "" if template.shell else template.words[0]
    first, _, rest = whole.partition(" ")
    if rest and not os.path.lexists(whole) and shutil.which(first) is not None:
        raise Invalid(f"there is no program {whole!r}", "leave the quotes out, or give the line with --shell")
    if program is None or shutil.which(program) is not None:
        return
    if os.path.lexists(program) and "/" in program:
        wrong = "is a folder" if os.path.isdir(program) else "is not executable"  # noqa: PTH112
        raise Invalid(f"{program!r} {wrong}", f"make it so: chmod +x {program}" if wrong.endswith("executable") else "")
    raise Invalid(f"there is no program {program!r}", "check its name and PATH; a line for a shell needs --shell")
