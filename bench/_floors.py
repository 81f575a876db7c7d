"""The least that a program without rowlock would do to put the lines of a file into a table, durably."""

import sqlite3
from pathlib import Path

import psycopg

# The plain table has what any list of keys needs; ours has a line to stand in as well.
PLAIN = (
    "create table plain (list bigint not null, key text not null, attempts integer not null, primary key (list, key))"
)

SQLITE = {
    "same table": "insert into rowlock_items (list, key, gate, priority) values (1, ?, 0, 5) on conflict do nothing",
    "plain table": "insert into plain (list, key, attempts) values (1, ?, 0) on conflict do nothing",
}
POSTGRES = {
    "same table": "insert into rowlock_items (list, key, gate, priority) select 1, key, 0, 5 from given"
    " on conflict do nothing",
    "plain table": "insert into plain (list, key, attempts) select 1, key, 0 from given on conflict do nothing",
}


def sqlite(url: str, path: str, table: str) -> None:
    connection = sqlite3.connect(url, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("begin immediate")
    if table == "plain table":
        connection.execute(PLAIN)
    with Path(path).open() as file:
        connection.executemany(SQLITE[table], ((line.rstrip("\n"),) for line in file))
    connection.execute("commit")
    connection.close()


def postgres(url: str, path: str, table: str) -> None:
    with psycopg.connect(url) as connection:
        if table == "plain table":
            connection.execute(PLAIN)
        connection.execute("create temporary table given (key text) on commit drop")
        with connection.cursor().copy("copy given (key) from stdin") as copy, Path(path).open("rb") as file:
            while chunk := file.read(1 << 20):
                copy.write(chunk)
        connection.execute(POSTGRES[table])


FLOORS = {"sqlite": sqlite, "postgres": postgres}
