"""honker: queues in SQLite by a core in Rust; claim_batch and ack_batch in a plain loop."""

import os
import time
from typing import Any

from bench.peers.contract import Peer, chunks, tick

BATCHES = {"item": 1, "batch": 2000}
IDLE_SECONDS = 0.005


class Adapter(Peer):
    """honker, job by job or in batches of 2,000."""

    packages = ("honker",)
    needs = "its wheels need glibc 2.38 or newer"
    storages = ("sqlite",)
    handlers = ("item", "batch")
    size = 20_000
    item_share = 0.05
    unfinished = "select count(*) from _honker_live"

    def open(self) -> None:
        import honker

        self.database: Any = honker.open(self.path)
        self.queue = self.database.queue("jobs")

    def prepare(self) -> None:
        self.open()
        self.database.close()

    def add(self, number: int) -> object:
        return self.queue.enqueue({"i": number})

    def add_many(self, numbers: range) -> None:
        for chunk in chunks(numbers, 5000):
            with self.database.transaction() as transaction:
                for number in chunk:
                    self.queue.enqueue({"i": number}, tx=transaction)

    def work(self, handler: str) -> object:
        self.open()
        worker = f"worker {os.getpid()}"
        while True:
            jobs = self.queue.claim_batch(worker, BATCHES[handler])
            for job in jobs:
                tick(job.payload["i"])
            if jobs:
                self.queue.ack_batch([job.id for job in jobs], worker)
            else:
                time.sleep(IDLE_SECONDS)
