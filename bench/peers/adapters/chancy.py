"""chancy: push_many, its asynchronous executor, eager polling."""

import logging
from typing import Any

from bench.peers.contract import AsyncPeer, tick


async def run(*, number: int) -> None:
    """The job."""
    tick(number)


class Adapter(AsyncPeer):
    """chancy with two thousand jobs at once."""

    packages = ("chancy[cli,web]",)
    handlers = ("async",)
    size = 5_000
    unfinished = "select count(*) from chancy_jobs where state in ('pending', 'running', 'retrying')"

    def app(self) -> Any:
        from chancy import Chancy

        log = logging.getLogger("chancy-bench")
        log.setLevel(logging.WARNING)
        return Chancy(self.url, log=log, max_connection_pool_size=10)

    def job(self, number: int) -> Any:
        from chancy import Job

        return Job(func=f"{__name__}.run", kwargs={"number": number}, queue="default", max_attempts=3)

    def open(self) -> None:
        self.chancy = self.app()
        self.run(self.chancy.__aenter__())

    def prepare(self) -> None:
        from chancy import Chancy, Queue

        self.open()
        self.run(self.chancy.migrate())
        how: dict[str, Any] = {"concurrency": 2000, "polling_interval": 1, "eager_polling": True}
        self.run(self.chancy.declare(Queue("default", executor=Chancy.Executor.Async, **how)))

    async def send(self, number: int) -> object:
        return await self.chancy.push(self.job(number))

    def add_many(self, numbers: range) -> None:
        self.run(self._push(numbers))

    async def _push(self, numbers: range) -> None:
        async for _ in self.chancy.push_many([self.job(number) for number in numbers], batch_size=1000):
            pass

    def work(self, handler: str) -> object:
        return self.run(self._work())

    async def _work(self) -> None:
        from chancy import Worker

        async with self.app() as chancy, Worker(chancy) as worker:
            await worker.wait_for_shutdown()
