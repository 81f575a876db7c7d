"""RQ on Redis: its SimpleWorker, which forks no process for a job."""

from bench.peers.contract import RedisPeer, chunks, tick


def run(number: int) -> None:
    """The job."""
    tick(number)


class Adapter(RedisPeer):
    """RQ without results."""

    packages = ("rq", "hiredis")
    size = 1_000

    def open(self) -> None:
        from rq import Queue

        self.queue = Queue("jobs", connection=self.redis)

    def add(self, number: int) -> object:
        return self.queue.enqueue(run, number, result_ttl=0)

    def add_many(self, numbers: range) -> None:
        for chunk in chunks(numbers, 1000):
            self.queue.enqueue_many([self.queue.prepare_data(run, (number,), result_ttl=0) for number in chunk])

    def work(self, handler: str) -> object:
        from rq import SimpleWorker

        self.open()
        return SimpleWorker([self.queue], connection=self.redis).work(logging_level="ERROR")

    def remaining(self) -> int:
        self.open()
        return int(self.queue.count + self.queue.started_job_registry.get_job_count(cleanup=False))
