"""The scheme that is built first: subscriptions by which fields they name, one query for each such pattern.

Kind to it: only fields with equality form patterns, ranges and beginnings are conditions beside them, statistics are
fresh, and only patterns that occur are asked for.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import psycopg

from bench._comics import NUMBERS, TEXTS

NAMES = [name for name, *_ in TEXTS]
RANGED = [name for name, _ in NUMBERS]
COLUMNS = ["pattern", "subscriber", *NAMES, *(f"{name}_start" for name in NAMES)]
COLUMNS += [f"{name}_{end}" for name in RANGED for end in ("low", "high")]
BATCH = 20_000

Match = Callable[[dict[str, Any]], list[str]]


def rows(subscriptions: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[Any, ...]]:
    """A row for each combination of the values of one-of predicates."""
    for subscriber, asked in subscriptions:
        wide = {name: each["in"] for name, each in asked.items() if isinstance(each, dict) and "in" in each}
        for values in product(*wide.values()):
            yield _row(subscriber, asked | dict(zip(wide, values, strict=True)))


def _row(subscriber: str, asked: dict[str, Any]) -> tuple[Any, ...]:
    equal = {name: value for name, value in asked.items() if isinstance(value, str)}
    pattern = ",".join(sorted(equal))
    starts = [_part(asked.get(name), "prefix") for name in NAMES]
    ends = [_part(asked.get(name), end) for name in RANGED for end in ("from", "to")]
    return (pattern, subscriber, *(equal.get(name) for name in NAMES), *starts, *ends)


def _part(asked: Any, name: str) -> Any:
    return asked.get(name) if isinstance(asked, dict) else None


def in_sqlite(path: str, subscriptions: Iterable[tuple[str, dict[str, Any]]]) -> Match:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma cache_size = -16000")
    db.execute(f"create table patterned ({', '.join(COLUMNS)})")
    db.execute("begin")
    db.executemany(f"insert into patterned values ({', '.join('?' * len(COLUMNS))})", rows(subscriptions))
    db.execute("commit")
    for name in NAMES:
        db.execute(f"create index patterned_{name} on patterned (pattern, {name})")
    db.execute("analyze")
    known = [pattern for (pattern,) in db.execute("select distinct pattern from patterned")]
    queries = [(pattern.split(",") if pattern else [], _query(pattern, ":{}", "")) for pattern in known]

    def match(record: dict[str, Any]) -> list[str]:
        values = dict.fromkeys((*NAMES, *RANGED)) | record
        fields = [(names, query) for names, query in queries if all(name in record for name in names)]
        return [found for _, query in fields for (found,) in db.execute(query, values)]

    return match


def in_postgres(url: str, subscriptions: Iterable[tuple[str, dict[str, Any]]]) -> Match:
    db = psycopg.connect(url, autocommit=True, prepare_threshold=2)
    kinds = [f"{name} {'bigint' if name.endswith(('_low', '_high')) else 'text'}" for name in COLUMNS]
    db.execute(f"create table patterned ({', '.join(kinds)})")
    with db.cursor() as cursor, cursor.copy("copy patterned from stdin") as copy:
        for row in rows(subscriptions):
            copy.write_row(row)
    for name in NAMES:
        db.execute(f"create index on patterned (pattern, {name})")
    db.execute("analyze patterned")
    known = [pattern for (pattern,) in db.execute("select distinct pattern from patterned").fetchall()]
    queries = [(pattern.split(",") if pattern else [], _query(pattern, "%({})s", "::bigint")) for pattern in known]

    def match(record: dict[str, Any]) -> list[str]:
        values = dict.fromkeys((*NAMES, *RANGED)) | record
        fields = [(names, query) for names, query in queries if all(name in record for name in names)]
        return [found for _, query in fields for (found,) in db.execute(query, values).fetchall()]

    return match


def _query(pattern: str, mark: str, cast: str) -> str:
    named = pattern.split(",") if pattern else []
    conditions = [f"pattern = '{pattern}'", *(f"{name} = {mark.format(name)}" for name in named)]
    for name in NAMES:
        value = mark.format(name) + ("::text" if cast else "")
        conditions.append(f"({name}_start is null or substr({value}, 1, length({name}_start)) = {name}_start)")
    for name in RANGED:
        value = mark.format(name) + cast
        conditions.append(f"({name}_low is null or {name}_low <= {value})")
        conditions.append(f"({name}_high is null or {name}_high >= {value})")
    return f"select subscriber from patterned where {' and '.join(conditions)}"


SCHEMES = {"sqlite": in_sqlite, "postgres": in_postgres}
