"""DBOS Transact: one workflow for each job, added by its client."""

import os
import threading
from typing import Any

from bench.peers.contract import WORKER, Peer, chunks, tick

OPTIONS: Any = {"workflow_name": "tick", "queue_name": "jobs"}
POLL_SECONDS = 0.1


class Adapter(Peer):
    """DBOS with a queue that is polled ten times a second."""

    packages = ("dbos",)
    storages = ("postgres", "sqlite")
    handlers = ("async",)
    size = 500
    bulk = False
    note = "durable workflows: each job keeps its history"

    def _address(self) -> str:
        return self.url.replace("postgresql://", "postgresql+psycopg://")

    def _launch(self) -> Any:
        from dbos import DBOS

        name = f"worker {os.environ.get(WORKER, 0)}"
        known = {"name": "bench", "application_version": "1", "executor_id": name, "log_level": "WARNING"}
        DBOS(config={**known, "system_database_url": self._address(), "sys_db_pool_size": 20})  # type: ignore

        @DBOS.workflow(name="tick")
        async def run(number: int) -> None:
            tick(number)

        DBOS.launch()
        DBOS.register_queue("jobs", polling_interval_sec=POLL_SECONDS)
        return DBOS

    def prepare(self) -> None:
        self._launch().destroy()

    def open(self) -> None:
        from dbos import DBOSClient

        self.client = DBOSClient(system_database_url=self._address())

    def add(self, number: int) -> object:
        return self.client.enqueue(OPTIONS, number)

    def add_many(self, numbers: range) -> None:
        # There is no bulk call: many in one transaction is the cheapest way that is documented.
        for chunk in chunks(numbers, 1000):
            with self.client._sys_db.engine.begin() as connection:
                for number in chunk:
                    self.client.enqueue_in_transaction(connection, OPTIONS, number)

    def work(self, handler: str) -> object:
        self._launch()
        return threading.Event().wait()

    def remaining(self) -> int:
        table = "workflow_status" if self.storage == "sqlite" else "dbos.workflow_status"
        return int(self.value(f"select count(*) from {table} where status in ('ENQUEUED', 'PENDING', 'DELAYED')"))
