"""oban for Python, the open edition: enqueue_many, an asynchronous worker."""

import asyncio
from typing import Any

from bench.peers.contract import AsyncPeer, chunks, tick


def worker() -> Any:
    """Return the class of the job; oban knows it by its name from then on."""
    from oban import worker

    @worker(queue="default")
    class Tick:
        async def process(self, job: Any) -> None:
            tick(job.args["i"])

    return Tick


class Adapter(AsyncPeer):
    """oban with a hundred jobs at once."""

    packages = ("oban", "uvloop")
    python = (3, 12)
    handlers = ("async",)
    size = 3_000
    unfinished = "select count(*) from oban_jobs where state in ('available', 'executing', 'scheduled', 'retryable')"

    def open(self) -> None:
        from oban import Oban

        self.pool = self.run(Oban.create_pool(self.url, max_size=10))
        self.oban, self.job = Oban(pool=self.pool), worker()

    def prepare(self) -> None:
        from oban.schema import install

        self.open()
        self.run(install(self.pool))

    async def send(self, number: int) -> object:
        return await self.oban.enqueue(self.job.new({"i": number}))

    def add_many(self, numbers: range) -> None:
        for chunk in chunks(numbers, 2000):
            self.run(self.oban.enqueue_many(self.job.new({"i": number}) for number in chunk))

    def work(self, handler: str) -> object:
        return self.run(self._work())

    async def _work(self) -> None:
        from oban import Oban

        worker()
        pool = await Oban.create_pool(self.url, min_size=2, max_size=10)
        async with Oban(pool=pool, queues={"default": {"limit": 10 if self.idle else 100}}):
            await asyncio.Event().wait()
