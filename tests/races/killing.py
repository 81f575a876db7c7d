"""Worker processes that get killed while they work, and are replaced."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tests.waiting import WAIT_SECONDS
from tests.waiting import until as until

from rowlock import Engine
from rowlock.diagnostics import broken_rules

# Linux ends them with the test that started them, whatever becomes of it.
PROLOGUE = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
from rowlock import Engine, Worker
url = sys.argv[1]
engine = Engine(url)
sign = "?" if engine.database.address.dialect == "sqlite" else "%s"
"""
BATCH = """
worker = Worker(engine, concurrency=2, expiry="1s")

@worker.on("work", batch=20, attempts=1000)
def handle(items, tx):
    tx.executemany(f"insert into ranks (key) values ({sign})", [(item.key,) for item in items])

worker.run(until="done")
engine.close()
"""
ENDLESS = """
worker = Worker(engine, concurrency=2, expiry="2s")

@worker.on("work", batch=5, attempts=1000)
def handle(items, tx):
    tx.executemany(f"insert into ranks (key) values ({sign})", [(item.key,) for item in items])

worker.run()
"""


class Gang:
    """Processes of one program; a killed one is replaced. `inside` stands before the command of each."""

    def __init__(self, url: str, program: str, size: int, *, inside: Sequence[str] = (), **environment: str) -> None:
        self._command = [*inside, sys.executable, "-c", PROLOGUE + program, url]
        self._environment = {**os.environ, **environment}
        self.processes = [self._start() for _ in range(size)]

    def _start(self) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        return subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True, env=self._environment)

    def kill_one(self, at_work: Callable[[], set[int]]) -> None:
        """One of those that are at work is no more; another one comes."""
        until(at_work)
        busy = [each for each, process in enumerate(self.processes) if process.pid in at_work()]
        victim = random.choice(busy or range(len(self.processes)))
        self._end(self.processes[victim])
        self.processes[victim] = self._start()

    def replace_dead(self) -> int:
        """Start another one for each that ended otherwise than well; how many did."""
        dead = [each for each, process in enumerate(self.processes) if process.poll()]
        for each in dead:
            self._end(self.processes[each])
            self.processes[each] = self._start()
        return len(dead)

    def wait(self, seconds: float = WAIT_SECONDS) -> list[int]:
        """How each ended by itself."""
        codes = [process.wait(seconds) for process in self.processes]
        self.end()
        return codes

    def end(self) -> None:
        """All of them are no more."""
        for process in self.processes:
            self._end(process)

    @staticmethod
    def _end(process: "subprocess.Popen[str]") -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def ranks(engine: Engine) -> tuple[int, int]:
    """How many rows the handlers have written, and for how many items."""
    row = engine.read(lambda tx: tx.execute("select count(*), count(distinct key) from ranks").fetchone())
    return row[0], row[1]


def at_work(engine: Engine) -> set[int]:
    """The processes that have items in hand."""
    return {int(info.holder.rpartition(":")[2]) for info in engine.sessions() if info.items}


def prepare(engine: Engine, items: int) -> None:
    """Items to be worked, and a table that takes each once."""
    engine["work"].add(f"{number:06}" for number in range(items))
    with engine.transaction() as tx:
        tx.execute("create table ranks (key varchar(20) primary key)")


def account(engine: Engine) -> dict[str, Any]:
    """What can be said at the end of a run."""
    info = engine["work"].info()
    rows, items = ranks(engine)
    broken = engine.read(broken_rules)
    return {"rows": rows, "items": items, "done": info.progress.done, "left": info.counts.total, "broken": broken}


def settled(items: int) -> dict[str, Any]:
    """What must be said of a list that was worked off: each item once, nothing lost, all in agreement."""
    return {"rows": items, "items": items, "done": items, "left": 0, "broken": []}
