"""SAQ on PostgreSQL and on Redis: it has no bulk call, so many enqueues run at once."""

from typing import Any

from bench.peers.contract import AsyncPeer, RedisPeer, tick


async def run(_context: Any, *, number: int) -> None:
    """The job."""
    tick(number)


class Adapter(AsyncPeer, RedisPeer):
    """SAQ with fifty jobs at once."""

    packages = ("saq[postgres,hiredis,redis]", "uvloop")
    storages = ("postgres", "redis")
    handlers = ("async",)
    size = 1_000
    bulk = False
    unfinished = "select count(*) from saq_jobs where status in ('new', 'deferred', 'queued', 'active')"

    def open(self) -> None:
        from saq import Queue

        pool = {"min_size": 4, "max_size": 20} if self.storage == "postgres" else {}
        self.queue = Queue.from_url(self.url, **pool)
        self.run(self.queue.connect())

    def prepare(self) -> None:
        self.open()
        self.run(self.queue.disconnect())

    async def send(self, number: int) -> object:
        return await self.queue.enqueue("run", number=number, retries=3)

    def add_many(self, numbers: range) -> None:
        self.add_together(numbers, at_once=50)

    def work(self, handler: str) -> object:
        from saq import Worker

        self.open()
        return self.run(Worker(self.queue, functions=[run], concurrency=10 if self.idle else 50).start())

    def remaining(self) -> int:
        if self.storage == "redis":
            return sum(self.redis.llen(f"saq:default:{state}") for state in ("queued", "active"))
        return super().remaining()
