"""arq on Redis: it has no bulk call, so many enqueues run at once."""

from typing import Any

from bench.peers.contract import AsyncPeer, RedisPeer, tick


async def run(_context: Any, number: int) -> None:
    """The job."""
    tick(number)


class Adapter(AsyncPeer, RedisPeer):
    """arq with a thousand jobs at once and a poll each ten milliseconds."""

    packages = ("arq", "hiredis", "uvloop")
    handlers = ("async",)
    size = 2_000
    bulk = False

    def _settings(self) -> Any:
        from arq.connections import RedisSettings

        return RedisSettings.from_dsn(self.url)

    def open(self) -> None:
        from arq import create_pool

        self.pool = self.run(create_pool(self._settings()))

    async def send(self, number: int) -> object:
        return await self.pool.enqueue_job("run", number)

    def add_many(self, numbers: range) -> None:
        self.add_together(numbers, at_once=50)

    def work(self, handler: str) -> object:
        from arq.worker import Worker

        async def work() -> None:
            how: dict[str, Any] = {"max_jobs": 1000, "poll_delay": 0.01, "keep_result": 0, "handle_signals": False}
            await Worker(functions=[run], redis_settings=self._settings(), **how).async_run()

        return self.run(work())

    def remaining(self) -> int:
        return int(self.redis.zcard("arq:queue"))
