"""awa: a core in Rust with a Python client; COPY in bulk, an asynchronous handler."""

import asyncio
from dataclasses import dataclass
from typing import Any

from bench.peers.contract import AsyncPeer, chunks, tick


@dataclass
class Tick:
    """The arguments of a job."""

    number: int


class Adapter(AsyncPeer):
    """awa with its queue storage, a thousand workers and claims of 512."""

    packages = ("awa-pg", "asyncpg")
    handlers = ("async",)
    size = 10_000

    def __init__(self, url: str) -> None:
        super().__init__(url)
        # Its driver takes the folder of a socket only in the place of a host.
        head, _, folder = url.partition("?host=")
        self.address = head.replace("@/", f"@{folder}/") if folder else url

    def open(self) -> None:
        from awa import AsyncClient

        self.client = AsyncClient(self.address)

    def prepare(self) -> None:
        self.open()
        self.run(self._migrate())

    async def _migrate(self) -> None:
        await self.client.migrate()
        await self.client.install_queue_storage(schema="awa")

    async def send(self, number: int) -> object:
        return await self.client.insert(Tick(number), queue="jobs")

    def add_many(self, numbers: range) -> None:
        self.run(self._copy(numbers))

    async def _copy(self, numbers: range) -> None:
        for chunk in chunks(numbers, 5000):
            await self.client.enqueue_many_copy([Tick(number) for number in chunk], queue="jobs")

    def work(self, handler: str) -> object:
        return self.run(self._work())

    async def _work(self) -> None:
        from awa import AsyncClient

        client = AsyncClient(self.address, max_connections=10)

        @client.task(Tick, queue="jobs")
        async def run(job: Any) -> None:
            tick(job.args.number)

        many = {"max_workers": 1000, "claim_batch_size": 512}
        await client.start([{"name": "jobs", **({"max_workers": 10} if self.idle else many)}])
        await asyncio.Event().wait()

    def remaining(self) -> int:
        from awa import Client

        if not hasattr(self, "_statistics"):
            self._statistics = Client(self.address)
        found = [each for each in self._statistics.queue_stats() if each.queue == "jobs"]
        return sum(each.available + each.running + each.retryable + each.scheduled for each in found)
