"""Shell lines that hand a key to another interpreter, such as `bash -c '… {} …'`: refused, for the key would be code.

This is a safety net against common mistakes and no proof: it splits a line into commands and words with a few patterns,
not with a shell's grammar, and knows some programs by their names. Where it is in doubt it refuses: a key that runs as
code is worse than a line that has to be written in another way.
"""

import re
from collections.abc import Sequence

from rowlock.errors import Invalid

VALUE = re.compile(r"(?<!\{)\{((?<!\$\{)(?!attempt\})(?:[^\W.][\w-]*(?:\.[\w-]+)*|data\.[^{}]+|//|/\.|[./])|)\}")
"""A placeholder for text that comes from an item; `${name}` is a variable of the shell, `{attempt}` a number."""

_CODE_IN_EVERY_ARGUMENT = re.compile(
    r"alias|declare|eval|let|mosh|parallel|rsh|runuser|screen|script|ssh|su|tmux|trap|typeset|unset|watch"
)
_CODE_AFTER_A_FLAG = re.compile(
    r"(?:a|ba|c|da|fi|k|tc|z)?sh|\$\{?SHELL.*|python[\d.]*|perl|ruby|node|bun|php|lua|julia|R|Rscript|osascript"
    r"|psql|mysql|mariadb|flock|env|n?vim|vi|gdb"
)
_CODE_AT = {"awk": 1, "gawk": 1, "mawk": 1, "nawk": 1, "sed": 1, "gsed": 1, "jq": 1, "yq": 1, "sqlite3": 2, "duckdb": 2}
"""Programs that read an argument as code, and which one it is, options and their values not counted."""
_VALUES_OF_OPTIONS = {"--arg": 2, "--argjson": 2, "--rawfile": 2, "--slurpfile": 2} | dict.fromkeys(
    ("-F", "-L", "-l", "-v", "--indent", "-cmd", "-init", "-nullvalue", "-separator"), 1
)
_FLAG = re.compile(r"-\w*[ce](?!\w)|-cmd|-i?ex\b|timeit\Z|--(?:command|eval|execute|expression|print|source)\b")
_FLAGS_OF = {
    "env": re.compile(r"-\w*S|--split-string"),
    "php": re.compile(r"-\w*r(?!\w)"),
    "sed": re.compile(r"-\w*e|--expression"),
}
"""Options after which code follows."""

_NESTED = re.compile(r"\$\(|`|<\(|<<|#|\\")
"""Where it is hard to tell what is quoted."""
_QUOTES = re.compile(r"[\"'\\]")
_SINGLE_QUOTED = re.compile(r"'[^'\"]*'")
_WORD = r"""(?:'[^']*'|"[^"]*"|[^\s;&|()<>`'"])+"""
_TOKEN = re.compile(rf"""\d*[<>]+[&|]?[ \t]*(?:{_WORD})?|(?P<end>[;&|()\n])|(?P<word>{_WORD})|(?P<odd>["'])""")
_BREAKS = re.compile(r"[\s;&|()<>`]+")
_BEFORE_A_COMMAND = re.compile(
    r"!|\{|if|then|else|elif|do|while|until|time|builtin|command|doas|env|exec|nice|nohup|setsid|stdbuf|sudo|timeout|xargs"
    r"|\w+\+?=.*|-.*|\d+\w?"
)
"""What may stand before a command's name: keywords, launchers with their options, assignments."""
_COMPUTED = re.compile(r"(?!\$\{?\w+\}?(?:/[\w.-]+)+$).*[$`]", re.DOTALL)
"""A name that only the shell knows; `$HOME/bin/tool` is known well enough."""
_COMPUTED_START = re.compile(rf"(?:^|[;&|({{`\n])\s*(?:(?:{_BEFORE_A_COMMAND.pattern})\s+)*[\"']*(?:\$[({{\w]|`)")
_EXPRESSION = re.compile(r"\(\(.*?\)\)|\$\{[^}]*\{.*?\}|\[\[.*?-(?:eq|ge|gt|le|lt|ne)\b.*?\]\]", re.DOTALL)
"""What some shells evaluate: they run a command that they find in a value there."""
_UNCLEAR = re.compile(r"(?:<<(?!<).*?|\"[^\"]*(?:\$\(|`)[^)`]*?)" + VALUE.pattern, re.DOTALL)
"""A placeholder in a here-document, or in a substitution in quotes: no quotes fit there."""
_SHELL = r"(?:\S*/)?(?:a|ba|c|da|fi|k|tc|z)?sh"
_PIPED = re.compile(
    rf"\b(?:echo|printf)\b[^|;&\n]*?{VALUE.pattern}[^|;&\n]*\|&?\s*(?:\w+\s+)*?{_SHELL}(?:\s+-\S*)*\s*(?:$|[;&|)\n])"
)
"""A placeholder that is written into a shell's input."""
_BY_VARIABLE = re.compile(
    rf"(?:^|[\s;&|(])(?P<name>\w+)\+?=\S*?{VALUE.pattern}.*?\b(?:eval|{_SHELL}\s+-\w*c)\b[^;&|\n']*\$\{{?(?P=name)\b",
    re.DOTALL,
)
"""A variable that holds a placeholder, and is run as code."""

_UNKNOWN = "a program whose name is computed"
_WAYS_OUT = (
    "read it from the environment there, as in: bash -c 'echo \"$ROWLOCK_KEY\"'; "
    "or give it as an argument of its own after the code: bash -c 'echo \"$1\"' _ {}"
)


def refuse_code(line: str) -> None:
    """Refuse a line in which a key may be read as code by a program that the line starts."""
    commands = _commands(line)
    if commands is None:
        _refuse_unclear(line)
    else:
        for words in commands:
            _refuse_command(words)
    if any(VALUE.search(found[0]) for found in _EXPRESSION.finditer(line)):
        raise Invalid(
            "a placeholder stands in an expression that the shell evaluates: a key could run as a command",
            "check that it is a number first, then use a variable of your own",
        )
    if _PIPED.search(line) or _BY_VARIABLE.search(line):
        raise _refusal("a shell")
    if _UNCLEAR.search(line):
        what = "a placeholder stands in a here-document, or in $(…) inside quotes, where it cannot be quoted"
        raise Invalid(what, 'write $ROWLOCK_KEY in the document, "$ROWLOCK_KEY" in $(…)')


def _commands(line: str) -> list[list[str]] | None:
    """Return the words of each command, redirections left out; None if it is hard to tell what is quoted."""
    upto = max((found.end() for found in VALUE.finditer(line)), default=0)
    if _NESTED.search(_SINGLE_QUOTED.sub("", line[:upto])):
        return None
    commands: list[list[str]] = [[]]
    for found in _TOKEN.finditer(line):
        if found["odd"] and found.start() < upto:
            return None
        if found["end"]:
            commands.append([])
        elif found["word"]:
            commands[-1].append(found["word"])
    return commands


def _refuse_unclear(line: str) -> None:
    """Refuse every placeholder that comes after a known program or a computed name."""
    for found in _COMPUTED_START.finditer(line):
        if VALUE.search(line, found.end()):
            raise _refusal(_UNKNOWN)
    words = _BREAKS.split(line)
    for at, word in enumerate(words):
        if (_CODE_IN_EVERY_ARGUMENT.fullmatch(_name(word)) or _reads_code(_name(word))) and _holds_value(
            words[at + 1 :]
        ):
            raise _refusal(_name(word))


def _refuse_command(words: Sequence[str]) -> None:
    """Refuse a placeholder where a program reads code, and every one if the program's name is computed."""
    first = next((at for at, word in enumerate(words) if not _BEFORE_A_COMMAND.fullmatch(_plain(word))), 0)
    for at, word in enumerate(words):
        name, arguments = _name(word), words[at + 1 :]
        if _CODE_IN_EVERY_ARGUMENT.fullmatch(name) and _holds_value(arguments):
            raise _refusal(name)
        if at == first and _COMPUTED.match(_plain(word)) and _holds_value(arguments):
            raise _refusal(_UNKNOWN)
        if _reads_code(name) and any(_is_code(name, arguments[:end]) for end in range(1, len(arguments) + 1)):
            raise _refusal(name)


def _is_code(name: str, arguments: Sequence[str]) -> bool:
    """Whether the last argument holds a placeholder where the program may read it as code."""
    *before, last = arguments
    if not VALUE.search(last):
        return False
    if _QUOTES.search(last) and not VALUE.fullmatch(_plain(last)):
        return True
    flag = _FLAGS_OF.get(name, _FLAG)
    if name in _CODE_AT:
        follows_flag = any(flag.match(_plain(word)) for word in arguments[-2:])
        return follows_flag or _position(arguments) == _CODE_AT[name]
    flags = [at for at, word in enumerate(arguments) if flag.match(_plain(word))]
    return bool(flags) and not any(_QUOTES.search(word) for word in before[flags[-1] :])


def _position(arguments: Sequence[str]) -> int:
    """Which argument the last one is, options and their values not counted; 0 if it is one of these."""
    count = values = 0
    is_counted = False
    for word in map(_plain, arguments):
        is_counted = not values and not word.startswith("-")
        count += is_counted
        values = values - 1 if values else _VALUES_OF_OPTIONS.get(word, 0)
    return count if is_counted else 0


def _plain(word: str) -> str:
    return _QUOTES.sub("", word)


def _name(word: str) -> str:
    """Return the name of the program if the word is one: without quotes and folders."""
    return _plain(word).rpartition("/")[2] if "$" not in word else _plain(word)


def _reads_code(name: str) -> bool:
    return name in _CODE_AT or _CODE_AFTER_A_FLAG.fullmatch(name) is not None


def _holds_value(words: Sequence[str]) -> bool:
    return any(VALUE.search(word) for word in words)


def _refusal(program: str) -> Invalid:
    return Invalid(f"a placeholder stands in what {program} may read as code: a key could run as a command", _WAYS_OUT)
