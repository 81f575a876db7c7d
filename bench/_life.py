"""What PostgreSQL writes for an item in its life, what an old snapshot does to claims, what many lists do to them."""

from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import psycopg

from bench._children import measured
from bench._raw import Drained, keys
from bench._workers import LIST, drain, drain_timed
from rowlock import Engine

BUSY = 10
EACH = 1_000


@dataclass(frozen=True)
class Written:
    """Bytes of write-ahead log per item."""

    add: float
    work: float
    vacuum: float


def written(url: str, size: int) -> Written:
    """Add, then claim and settle, then clean up; the log's length after each."""
    with psycopg.connect(url, autocommit=True) as connection:
        marks = [_position(connection)]
        with Engine(url) as engine:
            engine[LIST].add(keys(size))
        marks.append(_position(connection))
        measured(drain, url, "batch")
        marks.append(_position(connection))
        connection.execute("vacuum")
        marks.append(_position(connection))
    return Written(*((after - before) / size for before, after in pairwise(marks)))


def _position(connection: "psycopg.Connection[tuple[object, ...]]") -> int:
    row = connection.execute("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").fetchone()
    assert row is not None
    position: int = row[0]  # type: ignore[assignment]
    return position


def under_snapshot(url: str, batch: int) -> tuple[float, float]:
    """Milliseconds from batch to batch in the first and in the last fifth of a drain, while an old snapshot is kept."""
    with psycopg.connect(url) as keeper:
        keeper.execute("set transaction isolation level repeatable read")
        keeper.execute("select count(*) from rowlock_items")
        moments = measured(drain_timed, url, batch).answer
    steps = [1000 * (after - before) for before, after in pairwise(moments)]
    fifth = len(steps) // 5
    return median(steps[:fifth]), median(steps[-fifth:])


def make_lists(url: str, number: int) -> None:
    """Lists that have done their work and sleep, and ten that have some."""
    statement = "insert into rowlock_lists (name) values ({})"
    names = ((f"quiet/{each}",) for each in range(number))
    with Engine(url) as engine, engine.transaction() as tx:
        tx.executemany(statement.format("%s" if url.startswith("postgres") else "?"), names)
    with Engine(url) as engine:
        for each in range(BUSY):
            engine[f"busy/{each}"].add(keys(EACH))
    if url.startswith("postgres"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")


def drain_lists(url: str) -> Drained:
    """Work those ten by claims of a hundred."""
    answer: Drained = measured(drain, url, "batch", 100).answer
    assert answer.items == BUSY * EACH
    return answer
