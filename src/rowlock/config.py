"""Configuration: where each value comes from. A flag goes before the environment, then files, then defaults."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rowlock.db.urls import masked
from rowlock.errors import Invalid
from rowlock.names import closest

DEFAULTS = {"database": "rowlock.db", "audit_keep": "90d"}
ENVIRONMENT = {
    "database": "ROWLOCK_DATABASE_URL",
    "listen_url": "ROWLOCK_LISTEN_URL",
    "server": "ROWLOCK_SERVER",
    "token": "ROWLOCK_TOKEN",
    "audit_keep": "ROWLOCK_AUDIT_KEEP",
    "allow_hosts": "ROWLOCK_ALLOW_HOSTS",
    "connections": "ROWLOCK_CONNECTIONS",
    "connections_per_address": "ROWLOCK_CONNECTIONS_PER_ADDRESS",
    "long_polls": "ROWLOCK_LONG_POLLS",
    "long_polls_per_address": "ROWLOCK_LONG_POLLS_PER_ADDRESS",
    "waiting_requests": "ROWLOCK_WAITING_REQUESTS",
}
NUMBERS = ("connections", "connections_per_address", "long_polls", "long_polls_per_address", "waiting_requests")
"""What a file may also say without quotes: bounds of the HTTP service."""

ON_THE_LINE = 4


class Value(msgspec.Struct, frozen=True):
    """One configured value, and who said so."""

    name: str
    value: str
    origin: str
    nearness: int = 0
    """How near to who runs the program it was said: by default, in a file, in the environment, on the line itself."""

    @property
    def shown(self) -> str:
        """The value without its secrets."""
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
) -> dict[str, Value]:
    """Every value with its origin; a file that cannot be understood is refused, whatever goes before it."""
    found = {name: Value(name, value, "default") for name, value in DEFAULTS.items()}
    layers = (_home(environment), _project(folder or Path()), _variables(environment), _given(flags))
    for nearness, layer in enumerate(layers, 1):
        found |= {value.name: msgspec.structs.replace(value, nearness=nearness) for value in layer}
    return found


def place(values: Mapping[str, Value]) -> Value:
    """Where the work is: the database, or the server that was named as near or nearer."""
    database, server = values["database"], values.get("server")
    if server is None or server.nearness < database.nearness:
        return database
    if server.nearness == database.nearness == ON_THE_LINE:
        raise Invalid("both --database and --server were given", "give one of them")
    return server


def listen_url(values: Mapping[str, Value]) -> str | None:
    """Where to listen for notifications; None if the database comes from a nearer place, and so is another one."""
    value = values.get("listen_url")
    return value.value if value is not None and value.nearness >= values["database"].nearness else None


def _given(flags: Mapping[str, str | None]) -> Iterator[Value]:
    for name, value in flags.items():
        if value == "":
            raise Invalid(f"--{name} was given nothing", "is a variable of your script not set?")
        if value is not None:
            yield Value(name, value, f"flag --{name.replace('_', '-')}")


def _variables(environment: Mapping[str, str]) -> Iterator[Value]:
    for name, variable in ENVIRONMENT.items():
        if environment.get(variable):
            yield Value(name, environment[variable], f"environment {variable}")
        elif environment.get(f"{variable}_FILE"):
            yield Value(name, _secret(f"{variable}_FILE", environment), f"environment {variable}_FILE")


def _secret(variable: str, environment: Mapping[str, str]) -> str:
    path = environment[variable]
    try:
        return Path(path).read_text().strip()
    except (OSError, ValueError):
        raise Invalid(f"the file {path!r} that {variable} names cannot be read", "check its name and mode") from None


def _home(environment: Mapping[str, str]) -> Iterator[Value]:
    home = environment.get("XDG_CONFIG_HOME") or "~/.config"
    try:
        path = Path(home).expanduser() / "rowlock" / "config.toml"
    except RuntimeError:  # a user without a home has no file there
        return
    if os.access(path.parent.parent, os.X_OK):  # the home of another user is none of ours
        yield from _values(path, _toml(path))


def _project(folder: Path) -> Iterator[Value]:
    package, own = folder / "pyproject.toml", folder / "rowlock.toml"
    # Most pyproject.toml do not speak of us, and reading one costs more than looking.
    if b"tool.rowlock" in _bytes(package):
        yield from _values(package, _toml(package).get("tool", {}).get("rowlock", {}))
    yield from _values(own, _toml(own))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError:
        raise Invalid(f"the configuration file {path} cannot be read", "check its mode, or remove it") from None


def _toml(path: Path) -> dict[str, Any]:
    text = _bytes(path)
    if not text.strip():
        return {}
    import tomllib  # only who has a file pays for reading it

    try:
        return tomllib.loads(text.decode())
    except ValueError as error:
        raise Invalid(f"{path} is not TOML: {error}", "mend it, or remove it") from None


def _values(path: Path, table: dict[str, Any]) -> Iterator[Value]:
    for name, value in table.items():
        if name not in ENVIRONMENT:
            near = closest(name, ENVIRONMENT)
            hint = f"did you mean {near!r}?" if near else f"the names are {', '.join(sorted(ENVIRONMENT))}"
            raise Invalid(f"{path} sets {name!r}, which is nothing we know", hint)
        if name in NUMBERS and type(value) is int:
            value = str(value)
        if not isinstance(value, str):
            raise Invalid(f"{name} in {path} is not text", 'write it in quotes: database = "work.db"')
        yield Value(name, value, f"file {path}")
