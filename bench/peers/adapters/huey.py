"""huey on SQLite and on Redis: its consumer with threads."""

from typing import Any

from bench.peers.contract import RedisPeer, chunks, tick


class Adapter(RedisPeer):
    """huey, flushed at each commit on SQLite."""

    packages = ("huey",)
    storages = ("sqlite", "redis")
    size = 3_000
    note = "a job is gone once it is taken: a killed worker loses it"

    def open(self) -> None:
        from huey import RedisHuey, SqliteHuey

        self.huey: Any
        if self.storage == "redis":
            self.huey = RedisHuey("bench", url=self.url, results=False)
        else:
            self.huey = SqliteHuey("bench", filename=self.path, results=False, fsync=True)

        @self.huey.task(name="run")
        def run(number: int) -> None:
            tick(number)

        self.task = run

    def add(self, number: int) -> object:
        return self.task(number)

    def add_many(self, numbers: range) -> None:
        if not hasattr(self.huey, "enqueue_many"):
            return self.add_singly(numbers)
        for chunk in chunks(numbers, 1000):
            self.huey.enqueue_many([self.task.s(number) for number in chunk])
        return None

    def work(self, handler: str) -> object:
        self.open()
        threads = 1 if self.storage == "sqlite" and not self.idle else 4
        return self.huey.create_consumer(workers=threads, periodic=False, initial_delay=0.01, max_delay=0.1).run()

    def remaining(self) -> int:
        if not hasattr(self, "huey"):
            self.open()
        return int(self.huey.storage.queue_size())
