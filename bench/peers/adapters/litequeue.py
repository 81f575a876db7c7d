"""litequeue: put, pop and done in a plain loop; it has no worker."""

import time

from bench.peers.contract import Peer, tick

IDLE_SECONDS = 0.005


class Adapter(Peer):
    """litequeue, flushed at each commit."""

    packages = ("litequeue",)
    storages = ("sqlite",)
    python = (3, 12)
    size = 3_000
    note = "a queue without a worker: the loop is ours"
    unfinished = "select count(*) from Queue where status in (0, 1)"

    def open(self) -> None:
        from litequeue import LiteQueue

        self.queue = LiteQueue(self.path)
        self.queue.conn.execute("pragma synchronous = full")

    def prepare(self) -> None:
        self.open()

    def add(self, number: int) -> object:
        return self.queue.put(str(number))

    def add_many(self, numbers: range) -> None:
        with self.queue.transaction():
            self.add_singly(numbers)

    def work(self, handler: str) -> object:
        self.open()
        while True:
            message = self.queue.pop()
            if message is None:
                time.sleep(IDLE_SECONDS)
                continue
            tick(int(message.data))
            self.queue.done(message.message_id, claim_id=message.claim_id)
