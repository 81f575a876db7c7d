"""Compare rowlock with its peers: each round runs every measurement once, in turn, and keeps all of them."""

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import rowlock
from bench import _stores, shell
from bench._places import DISK, flush_milliseconds
from bench.peers import adapters, environments

ROOT = Path(__file__).resolve().parents[1]
LATEST = ROOT / "bench" / "results" / "latest.json"
HARNESS = "bench.peers.harness"
ROUNDS = 3
QUICK_SCALE = 0.2
CUT_SECONDS = 180
"""For a harness to start, to add what is drained, to run and to end."""
RECOVERIES_AT_ONCE = 8
FIRST, ALL = 1, None
"""How many of a peer's handlers are measured."""
BULK = 20_000
"""Items at least for a peer with a bulk call; fewer would show how the call starts and not its rate."""


@dataclass(frozen=True)
class Workload:
    """A measurement: what the harness runs, by which handlers, and how many items it takes."""

    name: str
    run: str
    share: float = 1.0
    least: int = 15
    most: int = 1_000_000
    processes: int = 1
    snapshot: bool = False
    handlers: int | None = FIRST
    quick: bool = True
    limit: float = 20.0
    """Seconds after which it is cut short."""


WORKLOADS = (
    Workload("bulk add", "bulk add", least=300),
    Workload("single add", "single add", share=0.2, least=300, most=1_000),
    Workload("drain", "drain", least=300, handlers=ALL),
    Workload("drain, 2 processes", "drain", processes=2, handlers=ALL, quick=False),
    Workload("drain under an open snapshot", "drain", snapshot=True, quick=False, handlers=ALL),
    Workload("add while draining", "add while draining", share=0.5, handlers=ALL, quick=False),
    Workload("latency", "latency", most=50),
)
RECOVERY = Workload("recovery", "recovery", quick=False, limit=60)


@dataclass(frozen=True)
class Terms:
    """The size of a comparison."""

    rounds: int = ROUNDS
    scale: float = 1.0
    quick: bool = False

    def size(self, cell: "Cell") -> int:
        """Return the number of items of a measurement."""
        workload, peer = cell.workload, adapters.adapter(cell.peer)
        if workload.run == "bulk add":
            return max(int(max(peer.size, peer.bulk * BULK) * self.scale), workload.least)
        drains = workload.run in ("drain", "add while draining")
        handled = peer.item_share if drains and cell.handler == "item" else 1
        wanted = min(int(peer.size * handled * workload.share), workload.most) * self.scale
        return max(int(wanted), workload.least)


@dataclass(frozen=True)
class Cell:
    """One measurement of one peer."""

    workload: Workload
    storage: str
    peer: str
    handler: str

    @property
    def row(self) -> dict[str, Any]:
        """Return what identifies it in the results."""
        return {"workload": self.workload.name, "storage": self.storage, "peer": self.peer, "handler": self.handler}


def cells(workloads: tuple[Workload, ...], peers: list[str], storages: list[str]) -> Iterator[Cell]:
    """Return all measurements of these peers, workload by workload."""
    for workload in workloads:
        for storage in storages if not workload.snapshot else ["postgres"]:
            for peer in peers:
                kind = adapters.adapter(peer)
                if storage in kind.storages:
                    yield from (Cell(workload, storage, peer, each) for each in kind.handlers[: workload.handlers])


class Comparison:
    """The stores, the environments of the peers, and what was measured."""

    def __init__(self, stores: dict[str, Any], terms: Terms) -> None:
        self._stores, self._terms = stores, terms
        self.rows: dict[Cell, list[dict[str, Any]]] = {}
        self.errors: dict[Cell, str] = {}
        self.missing: dict[str, str] = {}
        self.versions: dict[str, dict[str, str]] = {}

    def prepare(self, peers: list[str], storages: list[str]) -> None:
        """Install each peer and its schema; a peer that cannot run is named with its reason."""
        for peer in peers:
            try:
                for storage in set(adapters.adapter(peer).storages) & set(storages):
                    url = self._stores[storage].template(peer)
                    self.versions[peer] = self._harness(peer, url, "prepare")["versions"]
            except (environments.Missing, RuntimeError) as error:
                self.missing[peer] = str(error)
                print(f"{peer} cannot run here: {error}", file=sys.stderr, flush=True)

    def measure(self, cell: Cell) -> None:
        """Take one measurement; one that failed is not tried again."""
        if cell.peer in self.missing or cell in self.errors:
            return
        workload = cell.workload
        options = ["--size", self._terms.size(cell), "--handler", cell.handler, "--processes", workload.processes]
        try:
            with self._stores[cell.storage].copy(cell.peer, snapshot=workload.snapshot) as url:
                found = self._harness(cell.peer, url, workload.run, *options, "--limit", workload.limit)
        except RuntimeError as error:
            self.errors[cell] = str(error)
            found = {"error": str(error)}
        else:
            self.rows.setdefault(cell, []).append(found)
        shown = " ".join(f"{name} {value:,.1f}" for name, value in found.items() if isinstance(value, float))
        print(f"{workload.name:28} {cell.storage:9} {cell.peer:14} {cell.handler:6} {shown or found}", flush=True)

    def _harness(self, peer: str, url: str, workload: str, *options: object) -> dict[str, Any]:
        python = environments.python_of(peer, adapters.adapter(peer))
        ours = [each for each in sys.path if each] if python == sys.executable else []
        with tempfile.TemporaryDirectory(prefix="rowlock-ticks-") as folder:
            command = [python, "-m", HARNESS, peer, url, workload, "--ticks", f"{folder}/ticks", *map(str, options)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *ours])}
            given: dict[str, Any] = {"capture_output": True, "text": True, "cwd": folder, "env": environment}
            try:
                ended = subprocess.run(command, timeout=CUT_SECONDS, **given)
            except subprocess.TimeoutExpired:
                raise RuntimeError("it did not end in time") from None
        lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
        if ended.returncode or not lines:
            raise RuntimeError((ended.stderr.strip().splitlines() or ["it printed nothing"])[-1][:300])
        found: dict[str, Any] = json.loads(lines[-1])
        return found

    def results(self) -> list[dict[str, Any]]:
        """Return all rows with their runs."""
        return [{**cell.row, "runs": runs} for cell, runs in self.rows.items()] + [
            {**cell.row, "runs": [], "error": error} for cell, error in self.errors.items()
        ]


def compare(terms: Terms, peers: list[str], storages: list[str], place: str = DISK) -> dict[str, Any]:
    """Run the whole comparison and return it as what is stored."""
    workloads = tuple(each for each in WORKLOADS if each.quick or not terms.quick)
    began, load = time.time(), os.getloadavg()[0]
    with _stores.opened(place) as stores:
        comparison = Comparison(stores, terms)
        comparison.prepare(peers, storages)
        for _ in range(terms.rounds):
            for cell in cells(workloads, peers, storages):
                comparison.measure(cell)
        if not terms.quick:
            recover(comparison, peers, storages)
        machine = describe(stores, place)
    return {
        "machine": machine | {"load": load, "minutes": (time.time() - began) / 60},
        "rounds": terms.rounds,
        "scale": terms.scale,
        "versions": comparison.versions,
        "missing": comparison.missing,
        "notes": {peer: adapters.adapter(peer).note for peer in peers if adapters.adapter(peer).note},
        "rows": comparison.results(),
        "shell": shell.measure(size=1000 if terms.quick else 3000, jobs=4, rounds=terms.rounds),
        "trees": trees(100_000 if terms.quick else 1_000_000),
    }


def recover(comparison: Comparison, peers: list[str], storages: list[str]) -> None:
    """Kill a worker of each peer; several wait at once, for waiting costs nothing."""
    with ThreadPoolExecutor(RECOVERIES_AT_ONCE) as pool:
        list(pool.map(comparison.measure, cells((RECOVERY,), peers, storages)))


def trees(size: int) -> list[dict[str, Any]]:
    """Compare the trees with sortedcontainers and intervaltree, by their own part of the bench."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trees.json")
        command = [sys.executable, "-m", "bench.trees", "--size", str(size), "--keys", "int,interval", "--json", file]
        if subprocess.run(command, cwd=ROOT).returncode:
            return []
        found: list[dict[str, Any]] = json.loads(file.read_text())
    return found


def describe(stores: dict[str, Any], place: str) -> dict[str, Any]:
    """Name the machine and the versions of what all peers share."""
    model = "unknown"
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "processor": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "rowlock": rowlock.__version__,
        "PostgreSQL": stores["postgres"].version(),
        "Redis": stores["redis"].version(),
        "flush": flush_milliseconds(place),
    }


def main(arguments: list[str]) -> int:
    """Compare, store the result, and with --publish write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round of a fifth of the items: about three minutes")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--scale", type=float, help="the share of the items that a full run takes")
    parser.add_argument("--peers", default=",".join(adapters.names()), help="some of them; rowlock is one of them")
    parser.add_argument("--storage", default=",".join(_stores.STORES))
    parser.add_argument("--place", default=DISK, help="the folder of the databases")
    parser.add_argument("--output", type=Path, default=LATEST)
    parser.add_argument("--publish", action="store_true", help="write docs/benchmarks.md and its pictures")
    parser.add_argument("--stored", action="store_true", help="measure nothing: read the output of an earlier run")
    given = parser.parse_args(arguments)
    unknown = set(given.peers.split(",")) - set(adapters.names())
    if unknown:
        parser.error(f"there is no peer {min(unknown)!r}; the peers are {', '.join(adapters.names())}")
    if not given.stored:
        terms = Terms(rounds=1, scale=QUICK_SCALE, quick=True) if given.quick else Terms()
        terms = replace(terms, rounds=given.rounds or terms.rounds, scale=given.scale or terms.scale)
        found = compare(terms, given.peers.split(","), given.storage.split(","), given.place)
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(json.dumps(found, indent=1) + "\n")
    return report(given.output, publish=given.publish)


def report(file: Path, *, publish: bool) -> int:
    """Print the tables of a stored result; write the page and its pictures if wanted."""
    from bench import _report

    found = json.loads(file.read_text())
    print("\n".join(_report.tables(found)))
    if publish:
        _report.publish(found, ROOT / "docs")
    return 0
