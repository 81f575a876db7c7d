"""Shell lines that hand a key to another interpreter, such as `bash -c '… {} …'`: refused, for the key would be code.

This reads a line with a few patterns, not with a shell's grammar. Where it is in doubt it refuses: a key that runs as
code is worse than a line that has to be written in another way.
"""

import re

from rowlock.errors import Invalid

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
    """Whether it is hard to tell what is quoted, up to the last placeholder; single quotes hold no surprise."""
    upto = max((found.end() for found in VALUE.finditer(line)), default=0)
    return _NESTED.search(_SINGLE_QUOTED.sub("", line[:upto])) is not None


def _command(line: str, start: int) -> str:
    """The rest of the command: up to the next pipe, semicolon, ampersand or line that is not in quotes."""
    if _is_unclear(line):
        return line[start:]
    found = re.match(r"""(?:"[^"]*"|'[^']*'|[^|;&\n])*""", line[start:])
    return found[0] if found else ""


def _refusal(program: str) -> Invalid:
    return Invalid(f"a placeholder stands in what {program} may read as code: a key could run as a command", _WAYS_OUT)
