"""rowlock: the documented Worker with a batch handler, a function or a coroutine."""

from bench.peers.contract import Peer, tick


class Adapter(Peer):
    """rowlock, as it comes."""

    storages = ("postgres", "sqlite")
    handlers = ("item", "async", "batch")
    size = 100_000
    unfinished = "select count(*) from rowlock_items"

    def open(self) -> None:
        from rowlock import Engine

        self.engine = Engine(self.url if self.storage == "postgres" else self.path)
        self.list = self.engine["jobs"]

    def prepare(self) -> None:
        self.open()
        self.engine.migrate()
        self.engine.close()

    def add(self, number: int) -> object:
        return self.list.add(str(number))

    def add_many(self, numbers: range) -> object:
        return self.list.add(map(str, numbers))

    def work(self, handler: str) -> object:
        from rowlock import Item, Worker

        def item(item: Item) -> None:
            tick(int(item.key))

        async def coroutine(item: Item) -> None:
            tick(int(item.key))

        def batch(items: list[Item]) -> None:
            for item in items:
                tick(int(item.key))

        self.open()
        worker = Worker(self.engine, concurrency=4)
        if handler == "batch":
            worker.on("jobs", batch, batch=1000)
        else:
            worker.on("jobs", coroutine if handler == "async" else item)
        return worker.run()
