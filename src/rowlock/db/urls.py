"""Database addresses: a path, `sqlite:///…`, `postgresql://…`, `cockroachdb://…`; with secrets masked for display."""

import re
import shlex
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

import msgspec

from rowlock.errors import InvalidUrl

DIALECTS = {
    "sqlite": "sqlite",
    "postgresql": "postgres",
    "postgres": "postgres",
    "cockroachdb": "cockroach",
    "cockroach": "cockroach",
}
DEFAULT_FILE = "rowlock.db"
ISOLATIONS = ("read committed", "serializable")
POOLER_MODES = ("auto", "session", "transaction")
"""Detect a pooler; it gives each client a server connection for a session; it does so for one transaction."""
MAX_SCHEMA_CHARACTERS = 55
"""The name of a notification channel has at most 63 characters, and begins with `rowlock.`."""
OWN_OPTIONS = ("isolation", "pooler", "schema")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]*")
_SCHEMA_HINT = "write it like schema=rowlock, or leave it out for the first schema of the search_path"
_HINT = "give a file's path, sqlite:///path, or postgresql://user@host/name"
_POOLER_HINT = "give the pool mode of the connection pooler, or leave it out to detect one"
# Taken for a path, these would make a file whose name is a password.
_SCHEME_ONLY = re.compile(r"(sqlite|postgres(ql)?|cockroach(db)?)(\+\w+)?:", re.IGNORECASE)
_CONNECTION_STRING = re.compile(r"(^|\s)(host|hostaddr|dbname|user|password|service)\s*=")
_SECRET = re.compile("pass|secret|token|sslkey", re.IGNORECASE)


class Address(msgspec.Struct, frozen=True):
    """Where a database is: its dialect, the address for its driver, and one that may be displayed."""

    dialect: str
    target: str
    shown: str
    isolation: str = "read committed"
    lock_milliseconds: int = 0
    """How long to wait for a row that another transaction has locked, on a server; 0 for no limit."""
    statement_milliseconds: int = 0
    """How long one statement may take, on a server; 0 for no limit."""
    schema: str = ""
    """The schema of our tables, on a server; without one the search_path of our connections tells."""
    pasteable: str = ""
    """The address without secrets, for a command that a user may copy."""
    pooler: str = "auto"
    """The mode of the connection pooler before the server, if there is one: auto, session or transaction."""
    listen: "Address | None" = None
    """Where to listen for notifications, if not here: the direct address of a server behind a pooler."""

    @property
    def option(self) -> str:
        """The option that names this database in a command to copy, with a blank; empty for the default one."""
        return "" if self.pasteable == DEFAULT_FILE else f"-d {shlex.quote(self.pasteable)} "

    @property
    def is_missing_file(self) -> bool:
        """Whether the database is a file that does not exist yet."""
        return self.dialect == "sqlite" and not Path(self.target).exists()


def parse(url: str) -> Address:
    """Parse an address; an error never repeats a password."""
    if not isinstance(url, str):
        raise InvalidUrl(f"the database address must be text or a path, got {type(url).__name__}", _HINT)
    if "\0" in url or not url.strip():
        raise InvalidUrl("the database address is empty", _HINT)
    scheme, separator, _ = url.partition("://")
    if not separator:
        return _file(url)
    dialect = DIALECTS.get(scheme.lower().partition("+")[0])
    if dialect is None:
        raise InvalidUrl(f"unknown scheme {scheme!r} in the database address", _HINT)
    return _file(_path(url)) if dialect == "sqlite" else _server(url, dialect)


def _path(url: str) -> str:
    rest, _, query = url.partition("://")[2].partition("?")
    if "schema" in dict(parse_qsl(query)):
        raise _no_schemas()
    if not rest.startswith("/") or rest == "/":
        raise InvalidUrl(f"{url!r} names no file", "write sqlite:///relative.db or sqlite:////absolute/path.db")
    return unquote(rest[1:])


def _file(path: str) -> Address:
    if path == ":memory:":
        raise InvalidUrl(
            ":memory: is not supported: such a database ends with its connection",
            "give a file's path, in /dev/shm if you like",
        )
    if _SCHEME_ONLY.match(path) or _CONNECTION_STRING.search(path):
        raise InvalidUrl("the database address is neither a path nor a URL", _HINT)
    try:
        target = str(Path(path).expanduser())
    except RuntimeError:
        raise InvalidUrl(f"{path.partition('/')[0]} is no user's home directory", "write the whole path") from None
    return Address("sqlite", target, path, pasteable=path)


def _no_schemas() -> InvalidUrl:
    return InvalidUrl("schema must be left out for a SQLite file, which has no schemas", "use another file instead")


def with_schema(url: str, schema: str | None) -> str:
    """Return the address with this schema, if one is given and the address names none."""
    if not schema or "schema" in dict(parse_qsl(url.partition("?")[2])):
        return url
    if parse(url).dialect == "sqlite":
        raise _no_schemas()
    return f"{url}{'&' if '?' in url else '?'}schema={quote(schema)}"


def listening_at(address: Address, listen_url: str) -> Address:
    """Return the address with another one to listen at: the direct one of the server."""
    listen = parse(listen_url)
    if (address.dialect, listen.dialect) != ("postgres", "postgres"):
        what = f"listen_url must be for a PostgreSQL server, got {listen.shown} for the database {address.shown}"
        raise InvalidUrl(what, "leave it out, or give the direct address of the PostgreSQL server")
    # This may be a pooler in session mode, which passes notifications on: do not detect it.
    pooler = "session" if listen.pooler == "auto" else listen.pooler
    # The channel is that of the schema.
    listen = msgspec.structs.replace(listen, pooler=pooler, schema=address.schema)
    return msgspec.structs.replace(address, listen=listen)


def _server(url: str, dialect: str) -> Address:
    parts = _split(url)
    given = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(given)
    if [name for name, _ in given].count("schema") > 1:
        raise InvalidUrl("schema must be given once, got it several times", _SCHEMA_HINT)
    isolation = options.get("isolation", "read committed").replace("-", " ").replace("_", " ").lower()
    if isolation not in ISOLATIONS:
        raise InvalidUrl(
            f"isolation must be {' or '.join(ISOLATIONS)}, got {isolation!r}", "leave it out for read committed"
        )
    pooler = options.get("pooler", "auto").lower()
    if pooler not in POOLER_MODES:
        raise InvalidUrl(f"pooler must be auto, session or transaction, got {pooler!r}", _POOLER_HINT)
    # The others are passed on unchanged: the driver decodes them.
    others = "&".join(part for part in parts.query.split("&") if part and part.partition("=")[0] not in OWN_OPTIONS)
    target = _joined("postgresql", parts.netloc, parts.path, others)
    schema = _checked_schema(options["schema"]) if "schema" in options else ""
    pasteable = _without_secrets(parts)
    return Address(dialect, target, masked(url), isolation, schema=schema, pasteable=pasteable, pooler=pooler)


def _checked_schema(name: str) -> str:
    if not _SCHEMA.fullmatch(name) or len(name) > MAX_SCHEMA_CHARACTERS:
        rule = f"1 to {MAX_SCHEMA_CHARACTERS} small letters, digits and underscores, not a digit first"
        raise InvalidUrl(f"schema must be {rule}, got {name!r}", _SCHEMA_HINT)
    if name.startswith("pg_") or name == "information_schema":
        raise InvalidUrl(f"schema must not be one that PostgreSQL reserves, got {name!r}", _SCHEMA_HINT)
    return name


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = "," in parts.netloc or parts.port  # several hosts have several ports
    except ValueError:
        raise InvalidUrl("the database address cannot be read: is its port a number?", _HINT) from None
    # A password with one of these in it ends in the wrong part of the address, where it would not be masked.
    torn = parts.fragment or "@" in parts.path or any(part and "=" not in part for part in parts.query.split("&"))
    if torn:
        what = "the database address cannot be read: a sign in it, perhaps in its password, is not percent-encoded"
        raise InvalidUrl(what, "write @ as %40, / as %2F, ? as %3F, # as %23")
    return parts


def masked(url: str) -> str:
    """Return the address with its secrets masked; all but the scheme of one that cannot be read."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"{url.partition('://')[0]}://***"
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = unquote(user).partition(":")
    options = parse_qsl(parts.query)
    query = [(key, "***" if _SECRET.search(f"{key} {value}") else value) for key, value in options]
    where = f"{name}{':***' if colon else ''}{at}{host}"
    return _joined(parts.scheme, where, parts.path, urlencode(query, safe="*/"))


def _without_secrets(parts: SplitResult) -> str:
    user, at, host = parts.netloc.rpartition("@")
    query = "&".join(part for part in parts.query.split("&") if not _SECRET.search(part))
    return _joined(parts.scheme, f"{user.partition(':')[0]}{at}{host}", parts.path, query)


def _joined(scheme: str, where: str, path: str, query: str) -> str:
    # urlunsplit would drop the slashes of an address without a host: that of a local socket.
    return f"{scheme}://{where}{path}{'?' if query else ''}{query}"
