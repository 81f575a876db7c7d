"""A connection that measures what each of our statements reads, by the plan that the server makes for it."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from psycopg.sql import quote

from rowlock.db import Pending
from rowlock.db.driver import DatabaseConnection, Parameters, Row
from rowlock.db.postgres import DIALECT
from rowlock.db.statements import Statements, names
from rowlock.environment import Deadline

PLACEHOLDER = re.compile(r"%\((\w+)\)s")
# How the parameters of a statement are declared to the server; it finds out by itself what a text is meant to be.
KINDS: dict[type, str] = {int: "bigint", float: "double precision", bool: "boolean"}
# What the server may decide by itself, if nobody has told it.
MODES = {"auto": ("force_generic_plan", "force_custom_plan")}


class Reading(msgspec.Struct, frozen=True):
    """What one run of a statement read: rows in all nodes of its plan, thrown away or not, and blocks of 8 kB."""

    statement: str
    rows: int
    buffers: int
    plan: str


class Explaining:
    """Stands before a real connection. Each statement is explained with the plans it may get, undone, and then run.

    A plan is made once and kept, as the server keeps that of a prepared statement. What would travel together runs one
    after the other, each in its own transaction.
    """

    def __init__(self, connection: DatabaseConnection, readings: list[Reading]) -> None:
        self._connection = connection
        self._readings = readings
        self._names = {statement.text: statement.name for statement in map(Statements(DIALECT).get, names())}
        self._prepared: dict[tuple[str, ...], str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def query(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        self._explain(sql, parameters)
        return self._connection.query(sql, parameters)

    def autocommit(self, sql: str, parameters: Parameters = (), *, deadline: Deadline) -> list[Row]:
        self._explain(sql, parameters)
        return self._connection.autocommit(sql, parameters, deadline=deadline)

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        self._explain(sql, parameters)
        return self._connection.change(sql, parameters)

    def send(self, sql: str, parameters: Parameters = ()) -> Pending[list[Row]]:
        rows = self.query(sql, parameters)
        return Pending(lambda: rows)

    def pipeline(self, works: Sequence[Callable[[], Any]], *, deadline: Deadline, flushed: bool = True) -> list[Any]:
        return [self._alone(work, deadline) for work in works]

    def _alone(self, work: Callable[[], Any], deadline: Deadline) -> Any:
        self._connection.begin(deadline=deadline)
        answer = work()
        self._connection.commit()
        return answer

    def _explain(self, sql: str, parameters: Any) -> None:
        if sql in self._names:
            with self._undone():
                mode = str(self._said("show plan_cache_mode"))
                for each in MODES.get(mode, (mode,)):
                    self._readings.append(self._reading(each, sql, parameters))

    @contextmanager
    def _undone(self) -> Iterator[None]:
        begun = not self._connection.usable
        self._connection.execute("savepoint explaining" if begun else "begin")
        yield
        self._connection.execute("rollback to savepoint explaining" if begun else "rollback")

    def _reading(self, mode: str, sql: str, parameters: Any) -> Reading:
        order = dict.fromkeys(PLACEHOLDER.findall(sql))
        values = [parameters[name] for name in order]
        kinds = [KINDS.get(type(value), "unknown") for value in values]
        prepared = self._prepare(mode, sql, list(order), kinds)
        given = f"({', '.join(map(quote, values))})" if values else ""
        self._connection.execute(f"set local plan_cache_mode = {mode}")
        self._connection.execute("savepoint explained")
        found = self._said(f"explain (analyze, buffers, timing off, format json) execute {prepared}{given}")
        self._connection.execute("rollback to savepoint explained")
        plan = found[0]["Plan"]
        buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        return Reading(self._names[sql], rows_of(plan), buffers, f"{mode}: {outline(plan)}")

    def _prepare(self, mode: str, sql: str, order: list[str], kinds: list[str]) -> str:
        key = (mode, sql, *kinds)
        if key not in self._prepared:
            name = self._prepared[key] = f"explained_{len(self._prepared)}"
            numbered = PLACEHOLDER.sub(lambda match: f"${order.index(match[1]) + 1}", sql).replace("%%", "%")
            declared = f"({', '.join(kinds)})" if kinds else ""
            self._connection.execute(f"prepare {name} {declared} as {numbered}")
        return self._prepared[key]

    def _said(self, sql: str) -> Any:
        return self._connection.execute(sql).fetchone()[0]


def rows_of(plan: dict[str, Any]) -> int:
    """The rows that a node and those below it gave or threw away, over all their loops."""
    own = plan["Actual Rows"] + sum(number for name, number in plan.items() if name.startswith("Rows Removed by"))
    return round(own * plan["Actual Loops"]) + sum(map(rows_of, plan.get("Plans", ())))


def outline(plan: dict[str, Any]) -> str:
    """A plan in one line: for each node what it is, what it gave and threw away, and its conditions."""
    told = ("Node Type", "Index Name", "CTE Name", "Index Cond", "Filter", "Actual Rows", "Actual Loops")
    own = [str(plan[name]) for name in (*told, "Rows Removed by Filter") if name in plan]
    return f"{' '.join(own)} [{', '.join(map(outline, plan.get('Plans', ())))}]"
