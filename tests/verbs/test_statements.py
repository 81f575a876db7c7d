"""Every statement of ours is one that every database understands."""

import re

import pytest

from rowlock import Engine
from rowlock.db import statements

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


@pytest.mark.parametrize("movable", [False, True], ids=["own-time", "given-time"])
def test_every_statement_prepares(engine: Engine, dialect: str, movable: bool) -> None:
    engine.make_ready()
    known = statements.Statements(engine.database.driver.dialect, movable_clock=movable)
    apart = statements.Statements(engine.database.driver.dialect, movable_clock=movable, schema="apart")
    chosen = [(apart if name == "migrations/create_schema" else known).get(name) for name in statements.names()]
    broken = [why for statement in chosen if (why := PROBES[dialect](engine, statement))]
    assert broken == []


def on_sqlite(engine: Engine, statement: statements.Statement) -> str:
    parameters = dict.fromkeys(re.findall(r":([a-z_][a-z0-9_]*)", statement.text), "0")
    each = statement.text.split(";\n")
    return "".join(tried(engine, statement.name, f"explain {text}", parameters) for text in each)


def on_postgres(engine: Engine, statement: statements.Statement) -> str:
    names = dict.fromkeys(_PLACEHOLDER.findall(statement.text))
    numbers = {name: f"${place}" for place, name in enumerate(names, 1)}
    text = _PLACEHOLDER.sub(lambda match: numbers[match[1]], statement.text).replace("%%", "%")
    return tried(
        engine, statement.name, text if text.startswith("create") else f'prepare "{statement.name}" as {text}', ()
    )


def tried(engine: Engine, name: str, text: str, parameters: object) -> str:
    """What a database says against a statement; nothing of it stays."""
    try:
        with engine.transaction() as tx:
            tx.execute(text, parameters)
            raise Undo
    except Undo:
        return ""
    except Exception as why:
        return f"{name}: {why}"


class Undo(Exception):
    """Roll back, all is well."""


PROBES = {"sqlite": on_sqlite, "postgres": on_postgres, "cockroach": on_postgres, "pooled": on_postgres}
