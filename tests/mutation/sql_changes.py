"""Changes of SQL: conditions left out, other comparisons and numbers, no order, no limit, columns left as they are."""

import re
from collections.abc import Iterator

import msgspec
from tests.mutation.changes import Change

TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n]*)|'[^']*'|\{[^{}]*\}|:?[a-z_][\w.]*|\d+(?:\.\d+)?|::|<=|>=|<>|<<|>>|->>?|\|\||.",
    re.IGNORECASE,
)
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "<>": "=", "+": "-", "-": "+", "min": "max", "max": "min"}
SWAPS |= {"greatest": "least", "least": "greatest"}
LOCKS = ("{lock}", "{skip}", "{lock_claim}", "{lock_if_free}")
CONNECTIVES = ("where", "and", "or", "on", "having", "when")
ENDS = {
    *CONNECTIVES,
    *(
        "order",
        "group",
        "limit",
        "returning",
        "union",
        "then",
        "cross",
        "join",
        "from",
        "set",
        "end",
        "else",
        "as",
        "do",
    ),
    *(",", ";", *LOCKS),
}
STATEMENTS = ("select", "with", "insert", "update", "delete")
MAX_NUMBER = 100
"""Larger ones are bounds of a type."""


class Token(msgspec.Struct, frozen=True):
    """A word, a number or a sign, and in how many brackets it stands."""

    text: str
    start: int
    end: int
    depth: int


Found = Iterator[tuple[int, int, str]]


def changes(source: str) -> list[Change]:
    """Return the changes of a statement or of a part."""
    tokens = _tokens(source)
    found = {(tokens[first].start, tokens[last].end, new) for first, last, new in _found(tokens)}
    return [Change.of(source, (start, end), new) for start, end, new in sorted(found)]


def _tokens(source: str) -> list[Token]:
    tokens: list[Token] = []
    depth = 0
    for match in TOKEN.finditer(source):
        if match["space"]:
            continue
        depth -= match[0] == ")"
        tokens.append(Token(match[0], match.start(), match.end(), depth))
        depth += match[0] == "("
    return tokens


def _found(tokens: list[Token]) -> Found:
    texts = ["", *(token.text for token in tokens), ""]
    if texts[1] not in STATEMENTS and "and" in [token.text for token in tokens if token.depth == 0]:
        yield from _condition(tokens, 0, "and")
    for at, (before, text, after) in enumerate(zip(texts, texts[1:], texts[2:], strict=False)):
        if text in CONNECTIVES and after != "conflict":
            yield from _condition(tokens, at + 1, text)
        elif text == "(" and before in (*CONNECTIVES, "not") and after not in STATEMENTS:
            yield from _condition(tokens, at + 1, "and")
        elif text == "order" or (text == "limit" and not after.isdigit()):
            yield at, _end(tokens, at, {"limit", *LOCKS, ";", "for", "returning", "on", "as"} - {text}), ""
        elif text == "set" and after != "(":
            yield from _assignments(tokens, at)
        else:
            yield from ((at, at, new) for new in _other_word(before, text, after))


def _other_word(before: str, text: str, after: str) -> Iterator[str]:
    """What may stand in the place of one word, number or sign."""
    if text == "desc" or (text == "not" and before != "is" and after != "null"):
        yield ""
    elif text.isdigit() and int(text) <= MAX_NUMBER and before not in ("limit", "select", "offset", "[", ","):
        yield str(1 - int(text) if int(text) < 2 else int(text) + 1)
    elif text in SWAPS and not (text in ("+", "-") and after.isdigit()) and (not text.isalpha() or after == "("):
        yield SWAPS[text]


def _end(tokens: list[Token], at: int, ends: set[str]) -> int:
    """Return the last token of what begins here: before one of the ends, or where the bracket closes."""
    depth = tokens[at].depth
    for place in range(at + 1, len(tokens)):
        token = tokens[place]
        if token.depth < depth or (token.depth == depth and token.text in ends):
            return place - 1
    return len(tokens) - 1


def _condition(tokens: list[Token], at: int, connective: str) -> Found:
    """A condition that is left out: true beside others that must hold, false among several of which one must."""
    last = _end(tokens, at, ENDS) if tokens[at].text not in ENDS else at
    after = tokens[last + 1].text if last + 1 < len(tokens) else ""
    if [token.text for token in tokens[at : last + 1]] != ["true"]:
        yield at, last, "false" if "or" in (connective, after) else "true"


def _assignments(tokens: list[Token], at: int) -> Found:
    """Columns that an update leaves as they are."""
    owner = _changed_table(tokens, at)
    last = _end(tokens, at, {"where", "from", "returning", ";"})
    first = at + 1
    while first <= last:
        end = min(_end(tokens, first, {","}), last)
        if tokens[end - 1].text != "+" or tokens[end].text != "1":  # there the number is changed
            yield first, end, f"{tokens[first].text} = {owner}.{tokens[first].text}"
        first = end + 2


def _changed_table(tokens: list[Token], at: int) -> str:
    texts = [token.text for token in tokens[:at]]
    if texts[-2:] == ["do", "update"]:
        return texts[len(texts) - texts[::-1].index("into")]
    return texts[-1]
