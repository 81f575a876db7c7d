"""Celery on Redis: the solo pool, acknowledged after the job, results ignored."""

import os
from typing import Any

from bench.peers.contract import RedisPeer, tick

QUIET = "-l ERROR --without-gossip --without-mingle --without-heartbeat"


class Adapter(RedisPeer):
    """Celery with one process and sixty-four prefetched tasks."""

    packages = ("celery[redis]", "hiredis")
    size = 2_000
    bulk = False

    def open(self) -> None:
        from celery import Celery

        self.app: Any = Celery("bench", broker=self.url)
        self.app.conf.update(task_ignore_result=True, task_acks_late=True, worker_prefetch_multiplier=64)
        self.app.conf.update(broker_connection_retry_on_startup=True, worker_enable_remote_control=False)

        @self.app.task(name="tick")
        def run(number: int) -> None:
            tick(number)

        self.task = run

    def add(self, number: int) -> object:
        return self.task.delay(number)

    def add_many(self, numbers: range) -> None:
        # A group publishes one by one; one producer for all is the quick way that is documented.
        with self.app.producer_pool.acquire(block=True) as producer:
            for number in numbers:
                self.task.apply_async((number,), producer=producer)

    def work(self, handler: str) -> object:
        self.open()
        return self.app.worker_main(["worker", "-P", "solo", "-n", f"{os.getpid()}@bench", *QUIET.split()])

    def remaining(self) -> int:
        return int(self.redis.llen("celery") + self.redis.hlen("unacked"))
