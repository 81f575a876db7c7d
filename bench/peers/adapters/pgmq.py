"""pgmq: a message queue without a worker; a plain loop of read_batch and delete_batch."""

import os
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bench.peers.contract import Peer, chunks, tick

VISIBLE_AGAIN_SECONDS = 30
BATCHES = {"item": 1, "batch": 2000}


class Adapter(Peer):
    """pgmq from its SQL, read in batches of 2,000 or message by message."""

    packages = ("pgmq", "asyncpg")
    handlers = ("item", "batch")
    size = 30_000
    item_share = 0.05
    note = "a queue without a worker: the loop is ours"
    unfinished = "select count(*) from pgmq.q_jobs"

    def _place(self) -> dict[str, str]:
        parts = urlsplit(self.url)
        host = parse_qs(parts.query)["host"][0]
        return {"host": host, "port": "5432", "username": "postgres", "password": "none", "database": parts.path[1:]}

    def open(self) -> None:
        from pgmq import PGMQueue

        self.queue: Any = PGMQueue(**self._place(), init_extension=False)

    def prepare(self) -> None:
        from pgmq import install_pgmq_from_sql

        install_pgmq_from_sql(**self._place())
        self.open()
        self.queue.create_queue("jobs")

    def add(self, number: int) -> object:
        return self.queue.send("jobs", {"i": number})

    def add_many(self, numbers: range) -> None:
        for chunk in chunks(numbers, 2000):
            self.queue.send_batch("jobs", [{"i": number} for number in chunk])

    def work(self, handler: str) -> object:
        os.environ.setdefault("PGCONNECT_TIMEOUT", "10")
        self.open()
        wait = {"vt": VISIBLE_AGAIN_SECONDS, "max_poll_seconds": 5, "poll_interval_ms": 50}
        while True:
            messages = self.queue.read_with_poll("jobs", qty=BATCHES[handler], **wait)
            for message in messages or ():
                tick(message.message["i"])
            if messages:
                self.queue.delete_batch("jobs", [message.msg_id for message in messages])
