"""SQL by name: `statements.get("items/add")` is sql/items/add.sql, or its variant for this dialect, translated.

Text that several statements share is a part, a file in sql/parts: `{parts/state}` stands for it.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import msgspec

from rowlock.db.row_decoders import decoder, result_columns
from rowlock.errors import InvalidUrl
from rowlock.model import ITEM_FRAGMENTS

SQL = Path(__file__).parent.parent / "sql"
DEFAULT_CHANNEL = "rowlock"

_FRAGMENT = re.compile(r"\{([a-z_]+)\}")
_PART = re.compile(r"\{(parts/[a-z_]+)\}")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
_OURS = re.compile(r"(?<![\w.])(?=rowlock_[a-z])")
"""The beginning of a name of ours: of a table, a sequence or a function."""
_CHANNEL = re.compile(r"(?<=pg_notify\(')rowlock(?=')")
_UNQUOTABLE = re.compile(r"""['"%\\]""")
# Not the update of a lock: for update, for no key update.
_WRITES = re.compile(r"\b(insert|delete|(?<!for )(?<!key )update)\b")


def channel_of(schema: str) -> str:
    """Return the name of the channel that notifications of a schema are sent on."""
    return DEFAULT_CHANNEL if schema in ("", "public") else f"{DEFAULT_CHANNEL}.{schema}"


class Dialect(msgspec.Struct, frozen=True):
    """How statements differ on one database: a small closed set of fragments, and its placeholders."""

    names: tuple[str, ...]
    """Its own name, then those of the dialects that it is a variant of."""
    fragments: Mapping[str, str]
    placeholder: Callable[[str], str]


class Statement(msgspec.Struct, frozen=True):
    """One statement, ready for its driver."""

    name: str
    text: str
    timed: bool
    """Whether it reads the clock: a given clock passes the time as a parameter."""
    writes: bool
    """Whether it may change rows; a lock changes none."""


class Statements:
    """All statements of one dialect, read and translated at first use.

    With a `schema` they name it, so that they do not depend on a connection's search_path.
    """

    def __init__(
        self, dialect: Dialect, *, movable_clock: bool = False, schema: str = "", channel: str = DEFAULT_CHANNEL
    ) -> None:
        if _UNQUOTABLE.search(schema):
            what = f"the schema {schema!r} of the tables has a quote, a backslash or a percent sign in its name"
            raise InvalidUrl(what, "rename the schema: alter schema … rename to rowlock")
        self._dialect = dialect
        self._channel = channel
        self._qualifier = f'"{schema}".' if schema else ""
        self._fragments = {**ITEM_FRAGMENTS, **dialect.fragments, "schema": f'"{schema}"'}
        if movable_clock:
            self._fragments["now"] = self._fragments["given_now"]
        self.for_server = bool(dialect.fragments["lock"])
        """Whether several transactions write at once, so that rows must be locked."""
        self.get = cache(self._translate)
        """Return the statement of this name."""
        self.columns = cache(lambda name: result_columns(self.get(name).text))
        """Return the names of the columns that a statement gives."""
        self.decoder = cache(lambda kind, name: decoder(kind, self.columns(name)))
        """Return the function that makes structs of a kind from a statement's rows."""

    def _translate(self, name: str) -> Statement:
        bare = self._bare(name)
        whole = _FRAGMENT.sub(lambda match: self._fragments[match[1]], bare)
        whole = _OURS.sub(self._qualifier, _CHANNEL.sub(self._channel, whole))
        ready = _PARAMETER.sub(lambda match: self._dialect.placeholder(match[1]), whole)
        return Statement(name, ready, "{now}" in bare, _WRITES.search(whole) is not None)

    def _bare(self, name: str) -> str:
        """Return a statement or part without comments, and with the parts that it names."""
        text = _COMMENT.sub("", source(name, self._dialect.names).read_text()).strip()
        return _PART.sub(lambda match: self._bare(match[1]), text)


def source(name: str, dialects: tuple[str, ...]) -> Path:
    """Return the file of a statement: the variant of the first dialect that has one, else the common one."""
    for dialect in dialects:
        variant = SQL / f"{name}.{dialect}.sql"
        if variant.exists():
            return variant
    return SQL / f"{name}.sql"


def names() -> list[str]:
    """Return the names of all statements, each once, without parts."""
    found = (path for path in SQL.glob("*/*.sql") if path.parent.name != "parts")
    return sorted({f"{path.parent.name}/{path.name.partition('.')[0]}" for path in found})
