"""The least that a program without rowlock would do to hand out items and delete them when done, durably.

Interval claims: a claim is one row, however many items. Row claims: each item is updated when it is claimed.
"""

import json
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import psycopg

SESSION = 1

POSTGRES_TABLES = """
create table raw_lists (id bigint primary key);
insert into raw_lists values (1);
create table raw_items (
    list bigint not null, key text collate "C" not null, position bigserial, gate integer not null default 0,
    priority smallint not null default 5, attempts integer not null default 0, due bigint, data text,
    session bigint, primary key (list, key)
);
create index raw_items_ready on raw_items (list, gate, priority, position) where due is null {free};
create table raw_claims (
    token bigserial primary key, session bigint not null, list bigint not null, gate integer not null,
    priority smallint not null, low bigint not null, high bigint not null
);
create index raw_claims_lane on raw_claims (list, gate, priority, high);
"""
POSTGRES_CLAIM = """
with frontier as (
    select coalesce(max(high), 0) as high from raw_claims where list = 1 and gate = 0 and priority = 5
),
next as materialized (
    select i.position, i.key, i.data, i.attempts from raw_items i, frontier
    where i.list = 1 and i.gate = 0 and i.priority = 5 and i.due is null and i.position > frontier.high
    order by i.position limit %s
),
took as (
    insert into raw_claims (session, list, gate, priority, low, high)
    select %s, 1, 0, 5, (select high from frontier), max(position) from next having count(*) > 0 returning token
)
select took.token, next.position, next.key, next.data, next.attempts from took, next
"""
POSTGRES_SETTLE = """
with held as materialized (delete from raw_claims where token = %s and session = %s returning token)
delete from raw_items i using held where i.list = 1 and i.key = any (%s::text[])
"""
ROW_CLAIM = """
with next as materialized (
    select key from raw_items where list = 1 and gate = 0 and priority = 5 and due is null and session is null
    order by position limit %s for update skip locked
)
update raw_items i set session = %s, attempts = attempts + 1 from next where i.list = 1 and i.key = next.key
returning i.key, i.data, i.attempts
"""
ROW_SETTLE = "delete from raw_items where list = 1 and key = any (%s::text[]) and session = %s"

SQLITE_TABLES = """
create table raw_items (
    position integer primary key, list integer not null, key text not null, gate integer not null default 0,
    priority integer not null default 5, attempts integer not null default 0, due integer, data text
);
create unique index raw_items_key on raw_items (list, key);
create index raw_items_ready on raw_items (list, gate, priority, position) where due is null;
create table raw_claims (
    token integer primary key autoincrement, session integer not null, list integer not null, gate integer not null,
    priority integer not null, low integer not null, high integer not null
);
create index raw_claims_lane on raw_claims (list, gate, priority, high);
"""
SQLITE_FRONTIER = "select coalesce(max(high), 0) from raw_claims where list = 1 and gate = 0 and priority = 5"
SQLITE_NEXT = """
select position, key, data, attempts from raw_items
where list = 1 and gate = 0 and priority = 5 and due is null and position > ? order by position limit ?
"""
SQLITE_CLAIM = """
insert into raw_claims (session, list, gate, priority, low, high) values (?, 1, 0, 5, ?, ?) returning token
"""
SQLITE_SETTLE = "delete from raw_items where position in (select value from json_each(?))"


@dataclass(frozen=True)
class Drained:
    """A drain as its process saw it: from its first claim until nothing was left."""

    items: int
    start: float
    end: float
    cpu: float


def rate(drains: Iterable[Drained]) -> float:
    """Items per second of all of them together."""
    drains = list(drains)
    return sum(each.items for each in drains) / (max(d.end for d in drains) - min(d.start for d in drains))


class Stopwatch:
    """Wall and CPU time of this process since it was made."""

    def __init__(self) -> None:
        self._start, self._cpu = time.perf_counter(), time.process_time()

    def drained(self, items: int) -> Drained:
        """What was done until now."""
        return Drained(items, self._start, time.perf_counter(), time.process_time() - self._cpu)


def load_postgres(url: str, keys: Iterable[str], *, rows: bool = False) -> None:
    """Tables of its own beside ours, filled and tidied up."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(POSTGRES_TABLES.format(free="and session is null" if rows else ""))
        with connection.cursor().copy("copy raw_items (list, key) from stdin") as copy:
            for key in keys:
                copy.write_row((1, key))
        connection.execute("vacuum analyze raw_items")
        connection.execute("checkpoint")


def load_sqlite(url: str, keys: Iterable[str]) -> None:
    """The same in a file."""
    connection = _open(url)
    connection.executescript(SQLITE_TABLES)
    connection.execute("begin immediate")
    connection.executemany("insert into raw_items (list, key) values (1, ?)", ((key,) for key in keys))
    connection.execute("commit")
    connection.close()


def intervals_postgres(url: str, batch: int) -> Drained:
    """Claim in one round trip that does not wait for the flush, settle in one statement that does."""
    with psycopg.connect(url, autocommit=True) as connection:
        watch, done = Stopwatch(), 0
        while rows := _claim(connection, batch):
            settled = connection.execute(POSTGRES_SETTLE, (rows[0][0], SESSION, [row[2] for row in rows]))
            done += settled.rowcount
        return watch.drained(done)


def _claim(connection: "psycopg.Connection[Any]", batch: int) -> list[Any]:
    with connection.pipeline():
        connection.execute("begin")
        connection.execute("set local synchronous_commit = off")
        connection.execute("select from raw_lists where id = 1 for update")
        cursor = connection.execute(POSTGRES_CLAIM, (batch, SESSION))
        connection.execute("commit")
    return cursor.fetchall()


def intervals_sqlite(url: str, batch: int) -> Drained:
    """Settle the last claim and take the next in one transaction."""
    connection = _open(url)
    watch, done = Stopwatch(), 0
    token: int | None = None
    positions: list[int] = []
    while True:
        connection.execute("begin immediate")
        if token is not None:
            connection.execute("delete from raw_claims where token = ? and session = ?", (token, SESSION))
            done += connection.execute(SQLITE_SETTLE, (json.dumps(positions),)).rowcount
        (low,) = connection.execute(SQLITE_FRONTIER).fetchone()
        rows = connection.execute(SQLITE_NEXT, (low, batch)).fetchall()
        if rows:
            (token,) = connection.execute(SQLITE_CLAIM, (SESSION, low, rows[-1][0])).fetchone()
        connection.execute("commit")
        if not rows:
            return watch.drained(done)
        positions = [row[0] for row in rows]


def rows_postgres(url: str, batch: int) -> Drained:
    """Row claims, each statement a transaction of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        watch, done, session = Stopwatch(), 0, connection.info.backend_pid
        while rows := connection.execute(ROW_CLAIM, (batch, session)).fetchall():
            done += connection.execute(ROW_SETTLE, ([row[0] for row in rows], session)).rowcount
        return watch.drained(done)


def _open(url: str) -> sqlite3.Connection:
    connection = sqlite3.connect(url, isolation_level=None, timeout=60)
    for pragma in ("journal_mode = wal", "synchronous = full", "cache_size = -16000"):
        connection.execute(f"pragma {pragma}")
    return connection


def keys(size: int) -> Iterable[str]:
    """Keys of 30 bytes."""
    return (f"https://example.org/{number:06d}.jpg" for number in range(size))


LOADS = {"sqlite": load_sqlite, "postgres": load_postgres}
INTERVALS = {"sqlite": intervals_sqlite, "postgres": intervals_postgres}
