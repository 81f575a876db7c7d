"""pgqueuer: asyncpg, adding by lists, an asynchronous entry point."""

from datetime import timedelta
from typing import Any

from bench.peers.contract import AsyncPeer, chunks, tick


class Adapter(AsyncPeer):
    """pgqueuer with one connection; a worker that drains has a pool of five and batches of 500."""

    packages = ("pgqueuer[asyncpg,psycopg,cli]", "uvloop")
    handlers = ("async",)
    unfinished = "select count(*) from pgqueuer"

    async def driver(self, connections: int = 1) -> Any:
        import asyncpg
        from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver

        if connections == 1:
            return AsyncpgDriver(await asyncpg.connect(self.url))
        return AsyncpgPoolDriver(await asyncpg.create_pool(self.url, min_size=2, max_size=connections))

    def open(self) -> None:
        from pgqueuer.queries import Queries

        self.queries = Queries(self.run(self.driver()))

    def prepare(self) -> None:
        self.open()
        self.run(self.queries.install())

    async def send(self, number: int) -> object:
        return await self.queries.enqueue("tick", b"%d" % number)

    def add_many(self, numbers: range) -> None:
        for chunk in chunks(numbers, 5000):
            names, payloads = ["tick"] * len(chunk), [b"%d" % number for number in chunk]
            self.run(self.queries.enqueue(names, payloads, [0] * len(chunk)))

    def work(self, handler: str) -> object:
        return self.run(self._work())

    async def _work(self) -> None:
        from pgqueuer import PgQueuer

        queuer = PgQueuer(await self.driver(1 if self.idle else 5))

        @queuer.entrypoint("tick")
        async def run(job: Any) -> None:
            tick(int(job.payload))

        await queuer.run(batch_size=10 if self.idle else 500, dequeue_timeout=timedelta(seconds=30))
