"""Raw SQL: the floor. A bare table, claimed by SKIP LOCKED on PostgreSQL, without retries or recovery."""

import sqlite3
import time
from typing import Any

from bench.peers.contract import Peer, chunks, tick

TABLE = "create table jobs (id {id} primary key, number bigint not null, worker text)"
IDS = {"postgres": "bigint generated always as identity", "sqlite": "integer"}
CLAIM = """
update jobs set worker = 'w' where id in (
    select id from jobs where worker is null order by id limit {limit} {lock}
) returning id, number
"""
LOCKS = {"postgres": "for update skip locked", "sqlite": ""}
IDLE_SECONDS = 0.005


class Adapter(Peer):
    """What a program does without any library."""

    storages = ("postgres", "sqlite")
    handlers = ("item", "batch")
    size = 50_000
    item_share = 0.05
    note = "no retries, no recovery: the floor"
    unfinished = "select count(*) from jobs"

    def open(self) -> None:
        self.connection: Any
        if self.storage == "postgres":
            import psycopg

            self.connection, self.mark = psycopg.connect(self.url, autocommit=True), "%s"
        else:
            self.connection, self.mark = sqlite3.connect(self.path, isolation_level=None, timeout=60), "?"
            self.connection.execute("pragma journal_mode = wal")
            self.connection.execute("pragma synchronous = full")
        self.insert = f"insert into jobs (number) values ({self.mark})"

    def prepare(self) -> None:
        self.open()
        self.connection.execute(TABLE.format(id=IDS[self.storage]))
        self.connection.execute("create index jobs_free on jobs (id) where worker is null")
        self.connection.close()

    def add(self, number: int) -> object:
        return self.connection.execute(self.insert, (number,))

    def add_many(self, numbers: range) -> object:
        if self.storage == "postgres":
            with self.connection.cursor().copy("copy jobs (number) from stdin") as copy:
                for chunk in chunks(numbers, 10_000):
                    copy.write("".join(f"{number}\n" for number in chunk))
            return None
        self.connection.execute("begin immediate")
        self.connection.executemany(self.insert, ((number,) for number in numbers))
        return self.connection.execute("commit")

    def work(self, handler: str) -> object:
        self.open()
        claim = CLAIM.format(limit=1 if handler == "item" else 1000, lock=LOCKS[self.storage])
        remove = f"delete from jobs where id = {self.mark}"
        while True:
            rows = self.connection.execute(claim).fetchall()
            for _, number in rows:
                tick(number)
            if len(rows) > 1:
                self.connection.execute(f"delete from jobs where id in ({','.join(str(row[0]) for row in rows)})")
            elif rows:
                self.connection.execute(remove, rows[0][:1])
            else:
                time.sleep(IDLE_SECONDS)
