"""procrastinate: PsycopgConnector, batch_defer_async, an asynchronous task."""

from typing import Any

from bench.peers.contract import AsyncPeer, chunks, tick


class Adapter(AsyncPeer):
    """procrastinate with ten tasks at once."""

    packages = ("procrastinate", "uvloop")
    handlers = ("async",)
    size = 1_000
    unfinished = "select count(*) from procrastinate_jobs where status in ('todo', 'doing')"

    def app(self) -> Any:
        import procrastinate

        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=self.url, min_size=4, max_size=10))

        @app.task(queue="jobs", name="tick")
        async def run(number: int) -> None:
            tick(number)

        return app

    def open(self) -> None:
        app = self.app()
        self.run(app.open_async())
        self.schema, self.task = app.schema_manager, app.tasks["tick"]

    def prepare(self) -> None:
        self.open()
        self.run(self.schema.apply_schema_async())

    async def send(self, number: int) -> object:
        return await self.task.defer_async(number=number)

    def add_many(self, numbers: range) -> None:
        for chunk in chunks(numbers, 5000):
            self.run(self.task.batch_defer_async(*({"number": number} for number in chunk)))

    def work(self, handler: str) -> object:
        return self.run(self._work())

    async def _work(self) -> None:
        app = self.app()
        async with app.open_async():
            await app.run_worker_async(concurrency=10, wait=True, listen_notify=True)
