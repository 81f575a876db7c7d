"""Rowlock in a Django project: an engine on the project's own database, a worker, and a backend for tasks."""

from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.core.signals import setting_changed
from django.db import connections

from rowlock.engine import Engine
from rowlock.errors import Invalid

DEFAULTS: dict[str, Any] = {"DATABASE": "default", "URL": None, "HANDLERS": (), "DASHBOARD_URL": None}
"""The keys of the setting `ROWLOCK`, and what they are if it does not say."""


@cache
def engine() -> Engine:
    """Return the engine of this process, on the database that the setting `ROWLOCK` names."""
    return Engine(option("URL") or database_url(option("DATABASE")))


def option(name: str) -> Any:
    """Return one value of the setting `ROWLOCK`."""
    given = getattr(settings, "ROWLOCK", {})
    unknown = sorted(set(given) - set(DEFAULTS))
    if unknown:
        raise Invalid(f"ROWLOCK must have keys among {', '.join(DEFAULTS)}, got {unknown[0]!r}", "remove that key")
    return given.get(name, DEFAULTS[name])


def database_url(alias: str) -> str:
    """Return rowlock's address of one of the databases of the project."""
    if alias not in connections:
        what = f"ROWLOCK['DATABASE'] must be one of {', '.join(connections)}, got {alias!r}"
        raise Invalid(what, "give the alias of a database in DATABASES")
    connection = connections[alias]
    match connection.vendor:
        case "sqlite" if connection.is_in_memory_db():
            what = f"the database {alias!r} is a SQLite database in memory, which only its own connection sees"
            raise Invalid(
                what, "give the database a file; for tests: DATABASES['default']['TEST'] = {'NAME': 'test.db'}"
            )
        case "sqlite":
            return str(connection.settings_dict["NAME"])
        case "postgresql":
            return _server_url(connection.settings_dict)
    what = f"the database {alias!r} must be SQLite or PostgreSQL, got {connection.vendor}"
    raise Invalid(what, "name another database in ROWLOCK['DATABASE'], or an address in ROWLOCK['URL']")


def _server_url(given: dict[str, Any]) -> str:
    plain = {name: value for name, value in given["OPTIONS"].items() if isinstance(value, str | int)}
    named = {"user": given["USER"], "password": given["PASSWORD"], "host": given["HOST"], "port": given["PORT"]}
    options = {**{name: value for name, value in named.items() if value}, **plain}
    return f"postgresql:///{quote(given['NAME'])}?{urlencode(options, quote_via=quote)}"


def _forget_engine(*, setting: str, **_: object) -> None:
    if setting in ("ROWLOCK", "DATABASES"):
        engine.cache_clear()


setting_changed.connect(_forget_engine)
