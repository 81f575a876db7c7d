"""One workload of one peer, in the peer's own environment: python -m bench.peers.harness PEER URL WORKLOAD [options].

The last line of its output is a JSON object. The parent made the database and starts no other work meanwhile.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.peers.adapters import adapter
from bench.peers.contract import HANG, TICK, TICKS, WARM, WORKER, Peer
from bench.peers.processes import die_with_parent, kill, resident_megabytes

POLL_SECONDS = 0.002
WARM_UPS = 3
PAUSES = (0.02, 0.06)


@dataclass(frozen=True)
class Run:
    """A peer, the terms of its workload, and the file where its jobs note their start."""

    peer: Peer
    size: int
    handler: str
    processes: int
    limit: float
    ticks: Path

    def ticked(self) -> int:
        """Count the jobs that started."""
        return self.ticks.stat().st_size // TICK.size

    def started(self) -> list[tuple[float, int]]:
        """Return the time and the number of each start."""
        return list(TICK.iter_unpack(self.ticks.read_bytes()))

    def workers(self, number: int, **environment: str) -> list["subprocess.Popen[bytes]"]:
        """Start worker processes that die with this one."""
        command = [sys.executable, "-m", __spec__.name, name_of(self.peer), self.peer.url, "work"]
        command += ["--handler", self.handler, *(["--idle"] if self.peer.idle else [])]
        with (self.ticks.parent / "log").open("ab") as log:
            terms: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            return [
                subprocess.Popen(
                    command,
                    env={**os.environ, TICKS: str(self.ticks), WORKER: str(each), **environment},
                    start_new_session=True,
                    preexec_fn=die_with_parent,
                    **terms,
                )
                for each in range(number)
            ]

    def until(self, reached: Callable[[], bool], workers: list["subprocess.Popen[bytes]"], limit: float = 0) -> bool:
        """Wait until something is reached; False when time is up or all workers ended."""
        deadline = time.monotonic() + (limit or self.limit)
        while not reached():
            if time.monotonic() > deadline:
                return False
            if all(worker.poll() is not None for worker in workers):
                raise RuntimeError(f"the worker ended: {self.log()}")
            time.sleep(POLL_SECONDS)
        return True

    def log(self) -> str:
        """Return the last words of the workers."""
        lines = (self.ticks.parent / "log").read_text(errors="replace").strip().splitlines()
        return " ".join(lines[-3:])[-400:]


def add(run: Run, how: Callable[[range], object]) -> dict[str, float]:
    """Add jobs: rate, and what each takes in the database and in its log."""
    run.peer.open()
    run.peer.add(WARM)
    before, start = stored(run.peer), time.perf_counter()
    how(range(run.size))
    seconds = time.perf_counter() - start
    grown = {name: (value - before[name]) / run.size for name, value in stored(run.peer).items()}
    return {"rate": run.size / seconds, **grown}


def drain(run: Run) -> dict[str, float]:
    """Drain what was added before: from the first job's start until the peer's store holds nothing unfinished."""
    run.peer.open()
    run.peer.add_many(range(run.size))
    tidy(run.peer)
    before = stored(run.peer)
    workers = run.workers(run.processes)
    try:
        in_time = run.until(lambda: run.ticked() > 0, workers, limit=60)
        in_time = in_time and run.until(lambda: run.ticked() >= run.size, workers)
        in_time = in_time and run.until(lambda: run.peer.remaining() == 0, workers)
        end = time.time()
        megabytes = sum(resident_megabytes(worker.pid) for worker in workers)
    finally:
        kill(workers)
    starts = run.started()
    if not starts:
        raise RuntimeError(f"no job ran: {run.log()}")
    found = {"rate": len(starts) / (end - min(starts)[0]), "megabytes": megabytes, "finished": float(in_time)}
    found["ran twice"] = len(starts) - len({number for _, number in starts})
    return found | {"wal": (stored(run.peer)["wal"] - before["wal"]) / len(starts)} if "wal" in before else found


def both(run: Run) -> dict[str, float]:
    """Add while a worker drains: items a second through both, from the first add until nothing is left."""
    run.peer.open()
    workers = run.workers(1)
    try:
        warm_up(run, workers)
        start, wanted = time.time(), run.ticked() + run.size
        for low in range(0, run.size, 1000):
            run.peer.add_many(range(low, min(low + 1000, run.size)))
        in_time = run.until(lambda: run.ticked() >= wanted and run.peer.remaining() == 0, workers)
        end = time.time()
    finally:
        kill(workers)
    done = run.size - max(0, wanted - run.ticked())
    return {"rate": done / (end - start), "finished": float(in_time)}


def latency(run: Run) -> dict[str, float]:
    """Milliseconds from just before an add until the job starts in an idle worker."""
    run.peer.idle = True
    run.peer.open()
    workers = run.workers(1)
    try:
        warm_up(run, workers)
        idle = resident_megabytes(workers[0].pid)
        sent, longest = [], 0.0
        for number in range(run.size):
            # Up to the longest wait so far: a poller must not be met always at the same moment of its period.
            time.sleep(random.uniform(PAUSES[0], max(PAUSES[1], 1.1 * longest)))
            sent.append(_send_one(run, number, workers))
            longest = max(longest, time.time() - sent[-1])
    finally:
        kill(workers)
    starts = {number: moment for moment, number in run.started()}
    took = [1000 * (starts[number] - moment) for number, moment in enumerate(sent) if number in starts]
    p99 = quantiles(took, n=100, method="inclusive")[98]
    return {"p50": median(took), "p99": p99, "megabytes idle": idle, "lost": run.size - len(took)}


def _send_one(run: Run, number: int, workers: list[Any]) -> float:
    wanted, moment = run.ticked() + 1, time.time()
    run.peer.add(number)
    run.until(lambda: run.ticked() >= wanted, workers)
    return moment


def recovery(run: Run) -> dict[str, float | None]:
    """Seconds from the kill of a worker in the midst of a job until another worker starts the job again."""
    run.peer.open()
    run.peer.add(0)
    first = run.workers(1, **{HANG: "yes"})
    try:
        assert run.until(lambda: run.ticked() > 0, first, limit=60), f"no job ran: {run.log()}"
    finally:
        kill(first)
    killed, ticked = time.time(), run.ticked()
    second = run.workers(1)
    try:
        again = run.until(lambda: run.ticked() > ticked, second)
    finally:
        kill(second)
    return {"seconds": max(moment for moment, _ in run.started()) - killed if again else None, "waited": run.limit}


def warm_up(run: Run, workers: list[Any]) -> None:
    """Let the workers run some jobs, one after the other."""
    for each in range(WARM_UPS):
        run.peer.add(WARM - each)
        wanted = each + 1
        if not run.until(lambda wanted=wanted: run.ticked() >= wanted, workers, limit=30):
            raise RuntimeError(f"the first job did not run: {run.log()}")


def stored(peer: Peer) -> dict[str, float]:
    """Return the bytes of the store, and those of PostgreSQL's log."""
    if peer.storage == "postgres":
        size = peer.value("select pg_database_size(current_database())")
        return {"bytes": float(size), "wal": float(peer.value("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))}
    if peer.storage == "sqlite":
        peer.value("pragma wal_checkpoint(truncate)")
        folder = Path(peer.path).parent
        return {"bytes": float(sum(each.stat().st_size for each in folder.glob("*.db*")))}
    return {"bytes": float(peer.redis.info("memory")["used_memory_dataset"])}  # type: ignore[attr-defined]


def tidy(peer: Peer) -> None:
    """Gather statistics, as the server does a minute later by itself."""
    if peer.storage == "postgres":
        import psycopg

        with psycopg.connect(peer.url, autocommit=True) as connection:
            connection.execute("vacuum analyze")


def name_of(peer: Peer) -> str:
    """Return the name of an adapter."""
    return type(peer).__module__.rpartition(".")[2]


def versions(peer: Peer) -> dict[str, str]:
    """Return the versions of Python and of the peer's packages."""
    names = [re.split(r"[\[>=<]", package)[0] for package in peer.packages]
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in names}}


WORKLOADS: dict[str, Callable[[Run], dict[str, Any]]] = {
    "bulk add": lambda run: add(run, run.peer.add_many),
    "single add": lambda run: add(run, run.peer.add_singly),
    "drain": drain,
    "add while draining": both,
    "latency": latency,
    "recovery": recovery,
}


def main() -> None:
    """Run one workload and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer")
    parser.add_argument("url")
    parser.add_argument("workload", choices=[*WORKLOADS, "prepare", "work"])
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--handler", default="item")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS")
    parser.add_argument("--ticks", type=Path)
    parser.add_argument("--idle", action="store_true")
    given = parser.parse_args()
    peer = adapter(given.peer)(given.url)
    peer.idle = given.idle
    if given.workload == "work":
        peer.work(given.handler)
        return
    if given.workload == "prepare":
        peer.prepare()
        found: dict[str, Any] = {"versions": versions(peer)}
    else:
        given.ticks.touch()
        run = Run(peer, given.size, given.handler, given.processes, given.limit, given.ticks)
        found = WORKLOADS[given.workload](run)
    print(json.dumps(found), flush=True)
    os._exit(0)  # Some clients keep threads that would hold the process.


if __name__ == "__main__":
    main()
