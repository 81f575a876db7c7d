"""persist-queue: put, get and ack of its SQLiteAckQueue in a plain loop; it has no worker."""

import time
from pathlib import Path
from typing import Any

from bench.peers.contract import Peer, tick

IDLE_SECONDS = 0.005


class Adapter(Peer):
    """persist-queue, committed at each call."""

    packages = ("persist-queue",)
    storages = ("sqlite",)
    size = 1_000
    bulk = False
    note = "a queue without a worker: the loop is ours"
    unfinished = "select count(*) from ack_queue_default where status < 5"

    @property
    def path(self) -> str:
        return str(Path(super().path).parent / "data.db")

    def open(self) -> None:
        from persistqueue import SQLiteAckQueue

        folder = str(Path(self.path).parent)
        self.queue: Any = SQLiteAckQueue(folder, multithreading=True, auto_commit=True, auto_resume=True)

    def prepare(self) -> None:
        self.open()

    def add(self, number: int) -> object:
        return self.queue.put(number)

    def work(self, handler: str) -> object:
        from persistqueue import Empty

        self.open()
        while True:
            try:
                # A blocking call sees what other processes put only after ten seconds.
                number = self.queue.get(block=False)
            except Empty:
                time.sleep(IDLE_SECONDS)
                continue
            tick(number)
            self.queue.ack(number)
