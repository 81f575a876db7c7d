"""dramatiq on Redis: one worker process with eight threads; it has no bulk call."""

import threading

from bench.peers.contract import RedisPeer, tick


class Adapter(RedisPeer):
    """dramatiq with three retries."""

    packages = ("dramatiq[redis]", "hiredis")
    size = 2_000
    bulk = False

    def open(self) -> None:
        import dramatiq
        from dramatiq.brokers.redis import RedisBroker

        self.broker = RedisBroker(url=self.url)
        dramatiq.set_broker(self.broker)

        @dramatiq.actor(actor_name="tick", max_retries=3)
        def run(number: int) -> None:
            tick(number)

        self.actor = run

    def add(self, number: int) -> object:
        return self.actor.send(number)

    def work(self, handler: str) -> object:
        import dramatiq

        self.open()
        dramatiq.Worker(self.broker, worker_threads=8).start()
        return threading.Event().wait()

    def remaining(self) -> int:
        return int(self.redis.hlen("dramatiq:default.msgs"))
