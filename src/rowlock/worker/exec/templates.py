"""Command templates: a command as it was written, and as it is run for given items."""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

import msgspec

from rowlock.errors import Invalid
from rowlock.model import Item
from rowlock.names import closest

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


# Shell lines that hand a key to another interpreter, such as `bash -c '… {} …'`, are refused: the key would be code.
# This reads a line with a few patterns, not with a shell's grammar. Where it is in doubt it refuses: a key that runs as
# code is worse than a line that has to be written in another way.

VALUE = re.compile(r"\{((?<!\$\{)(?:name|stem|list)|)\}")
"""A placeholder for text that comes from an item; `${name}` is a variable of the shell, `{attempt}` a number."""

_STARTS = r"(?:^|[|;&({\n]|\b(?:command|env|exec|nice|nohup|sudo|time|timeout|xargs)\b[^|;&\n]*?\s)\s*"
_EVERY_ARGUMENT = re.compile(
    _STARTS + r"(eval|mosh|parallel|rsh|runuser|screen|script|ssh|su|tmux|trap|watch)(?![\w.-])"
)
"""Programs that read all their arguments as code."""
_ONE_ARGUMENT = re.compile(
    r"(?<![\w.-])(ash|bash|csh|dash|fish|ksh|sh|tcsh|zsh|\$\{?SHELL\S*|g?awk|mawk|g?sed|python[\d.]*|perl|ruby|node|php|lua"
    r"|julia|Rscript|osascript|psql|mysql|mariadb|sqlite3|duckdb|flock)(?![\w.-])"
)
"""Programs that read one argument as code."""
_NESTED = re.compile(r"\$\(|`|<\(|<<|#|\\")
"""Where it is hard to tell what is quoted."""
_SINGLE_QUOTED = re.compile(r"'[^'\"]*'")
_CODE = re.compile(
    r"""
    -\w*[ce]\b[^"']*["']?VALUE           # after -c or -e, with no quoted code before it
    | "(?!VALUE")[^"]*VALUE[^"]*"         # in quotes, with other text
    | '(?!VALUE')[^']*VALUE[^']*'
    | ["'][^\s"']+VALUE                   # joined to quoted text
    | (?<=["'])VALUE(?!["'])
    | (?<!["'])VALUE[^\s"']*["']
    """.replace("VALUE", VALUE.pattern.replace("(", "(?:", 1)),
    re.VERBOSE,
)
_EXPRESSION = re.compile(r"\(\(.*?\)\)|\$\{[^}]*\{.*?\}|\[\[.*?-(?:eq|ge|gt|le|lt|ne)\b.*?\]\]", re.DOTALL)
"""What some shells evaluate: they run a command that they find in a value there."""
_UNCLEAR = re.compile(r"(?:<<(?!<).*?|\"[^\"]*(?:\$\(|`)[^)`]*?)" + VALUE.pattern, re.DOTALL)
"""A placeholder in a here-document, or in a substitution in quotes: no quotes fit there."""

_WAYS_OUT = (
    "read it from the environment there, as in: bash -c 'echo \"$ROWLOCK_KEY\"'; "
    "or give it as an argument of its own after the code: bash -c 'echo \"$1\"' _ {}"
)


def refuse_code(line: str) -> None:
    """Refuse a line in which a key may be read as code by a program that the line starts."""
    for found in _EVERY_ARGUMENT.finditer(line):
        if VALUE.search(_command(line, found.end())):
            raise _refusal(found[1])
    for found in _ONE_ARGUMENT.finditer(line):
        rest = line[found.end() :]
        if VALUE.search(rest) and (_is_unclear(line) or _CODE.search(_command(line, found.end()))):
            raise _refusal(found[1])
    if any(VALUE.search(found[0]) for found in _EXPRESSION.finditer(line)):
        raise Invalid(
            "a placeholder stands in an expression that the shell evaluates: a key could run as a command",
            "check that it is a number first, then use a variable of your own",
        )
    if _UNCLEAR.search(line):
        what = "a placeholder stands in a here-document, or in $(…) inside quotes, where it cannot be quoted"
        raise Invalid(what, 'write $ROWLOCK_KEY in the document, "$ROWLOCK_KEY" in $(…)')


def _is_unclear(line: str) -> bool:
    """Return whether it is hard to tell what is quoted, up to the last placeholder, single quotes aside."""
    upto = max((found.end() for found in VALUE.finditer(line)), default=0)
    return _NESTED.search(_SINGLE_QUOTED.sub("", line[:upto])) is not None


def _command(line: str, start: int) -> str:
    """Return the rest of the command: up to the next pipe, semicolon, ampersand or line end outside quotes."""
    if _is_unclear(line):
        return line[start:]
    found = re.match(r"""(?:"[^"]*"|'[^']*'|[^|;&\n])*""", line[start:])
    return found[0] if found else ""


def _refusal(program: str) -> Invalid:
    return Invalid(f"a placeholder stands in what {program} may read as code: a key could run as a command", _WAYS_OUT)
