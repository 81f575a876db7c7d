"""Configuration: each value with its origin. A flag wins over the environment, then files, then defaults."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rowlock.db.urls import Address, masked, parse, with_schema
from rowlock.errors import Invalid, RowlockError
from rowlock.names import closest

DEFAULTS = {"database": "rowlock.db", "audit_keep": "90d"}
VARIABLES = {
    "database": "ROWLOCK_DATABASE_URL",
    "listen_url": "ROWLOCK_LISTEN_URL",
    "schema": "ROWLOCK_SCHEMA",
    "server": "ROWLOCK_SERVER",
    "token": "ROWLOCK_TOKEN",
    "audit_keep": "ROWLOCK_AUDIT_KEEP",
    "allow_hosts": "ROWLOCK_ALLOW_HOSTS",
    "trace_url": "ROWLOCK_TRACE_URL",
    "connections": "ROWLOCK_CONNECTIONS",
    "connections_per_address": "ROWLOCK_CONNECTIONS_PER_ADDRESS",
    "long_polls": "ROWLOCK_LONG_POLLS",
    "long_polls_per_address": "ROWLOCK_LONG_POLLS_PER_ADDRESS",
    "waiting_requests": "ROWLOCK_WAITING_REQUESTS",
}
WHOLE_NUMBERS = ("connections", "connections_per_address", "long_polls", "long_polls_per_address", "waiting_requests")
"""Settings that a file may also give without quotes: limits of the HTTP service."""

COMMAND_LINE = 4


class ConfigValue(msgspec.Struct, frozen=True):
    """One configured value and its origin."""

    name: str
    value: str
    origin: str
    precedence: int = 0
    """The higher wins: 0 for a default, then the user's file, the project's file, the environment, the command line."""

    @property
    def shown(self) -> str:
        """The value, with secrets masked."""
        if self.name == "token":
            return "***"
        if "://" not in self.value:
            return self.value
        try:
            return masked(self.value)
        except ValueError:
            return "***"


def load(
    flags: Mapping[str, str | None], *, environment: Mapping[str, str] = os.environ, folder: Path | None = None
) -> dict[str, ConfigValue]:
    """Return every value with its origin; an invalid file is refused, even if other values win over it."""
    values = {name: ConfigValue(name, value, "default") for name, value in DEFAULTS.items()}
    layers = (_home(environment), _project(folder or Path()), _variables(environment), _flags(flags))
    for precedence, layer in enumerate(layers, 1):
        values |= {value.name: msgspec.structs.replace(value, precedence=precedence) for value in layer}
    if "schema" in values:
        values["database"] = _in_schema(values["database"], values["schema"])
    return values


def target(values: Mapping[str, ConfigValue]) -> ConfigValue:
    """Return the value of `database` or of `server`, whichever has the higher precedence."""
    database, server = values["database"], values.get("server")
    if server is None or server.precedence < database.precedence:
        return database
    if server.precedence == database.precedence == COMMAND_LINE:
        raise Invalid("both --database and --server were given", "give one of them")
    return server


def opens(address: Address) -> bool:
    """Return whether a command without `--database` opens this database: environment and files say so."""
    try:
        found = target(load({}))
        opened = None if found.name == "server" else parse(found.value)
    except RowlockError:
        return False
    return opened is not None and (opened.target, opened.schema) == (address.target, address.schema)


def listen_url(values: Mapping[str, ConfigValue]) -> str | None:
    """Return where to listen for notifications; None if the database has the higher precedence, and so is another."""
    value = values.get("listen_url")
    return value.value if value is not None and value.precedence >= values["database"].precedence else None


def _in_schema(database: ConfigValue, schema: ConfigValue) -> ConfigValue:
    """Return the database with the schema, if it names none; a file from a nearer place has none."""
    if schema.precedence < database.precedence and parse(database.value).dialect == "sqlite":
        return database
    return msgspec.structs.replace(database, value=with_schema(database.value, schema.value))


def _flags(flags: Mapping[str, str | None]) -> Iterator[ConfigValue]:
    for name, value in flags.items():
        if value == "":
            raise Invalid(f"--{name} is empty", "is a variable of your script not set?")
        if value is not None:
            yield ConfigValue(name, value, f"flag --{name.replace('_', '-')}")


def _variables(environment: Mapping[str, str]) -> Iterator[ConfigValue]:
    for name, variable in VARIABLES.items():
        if environment.get(variable):
            yield ConfigValue(name, environment[variable], f"environment {variable}")
        elif environment.get(f"{variable}_FILE"):
            yield ConfigValue(name, _secret(f"{variable}_FILE", environment), f"environment {variable}_FILE")


def _secret(variable: str, environment: Mapping[str, str]) -> str:
    path = environment[variable]
    try:
        return Path(path).read_text().strip()
    except (OSError, ValueError):
        raise Invalid(f"cannot read the file {path!r} of {variable}", "check its name and mode") from None


def _home(environment: Mapping[str, str]) -> Iterator[ConfigValue]:
    home = environment.get("XDG_CONFIG_HOME") or "~/.config"
    try:
        path = Path(home).expanduser() / "rowlock" / "config.toml"
    except RuntimeError:  # a user without a home has no file there
        return
    if os.access(path.parent.parent, os.X_OK):  # not the home of another user
        yield from _values(path, _toml(path))


def _project(folder: Path) -> Iterator[ConfigValue]:
    package, own = folder / "pyproject.toml", folder / "rowlock.toml"
    # Most pyproject.toml have no such table, and parsing one costs more than a search.
    if b"tool.rowlock" in _bytes(package):
        yield from _values(package, _toml(package).get("tool", {}).get("rowlock", {}))
    yield from _values(own, _toml(own))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError:
        raise Invalid(f"cannot read the configuration file {path}", "check its mode, or remove it") from None


def _toml(path: Path) -> dict[str, Any]:
    text = _bytes(path)
    if not text.strip():
        return {}
    import tomllib  # slow to import, and most calls have no file

    try:
        return tomllib.loads(text.decode())
    except ValueError as error:
        raise Invalid(f"{path} is not valid TOML: {error}", "correct it, or remove it") from None


def _values(path: Path, table: dict[str, Any]) -> Iterator[ConfigValue]:
    for name, value in table.items():
        if name not in VARIABLES:
            near = closest(name, VARIABLES)
            hint = f"did you mean {near!r}?" if near else f"the names are {', '.join(sorted(VARIABLES))}"
            raise Invalid(f"unknown setting {name!r} in {path}", hint)
        if name in WHOLE_NUMBERS and type(value) is int:
            value = str(value)
        if not isinstance(value, str):
            raise Invalid(f"{name} in {path} must be text, got {value!r}", 'write it in quotes: database = "work.db"')
        yield ConfigValue(name, value, f"file {path}")
