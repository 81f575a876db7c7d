"""Runs tests against mutants: collected once, and those that touch a mutant run in a process forked for it."""

import argparse
import os
import re
import resource
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest
from _pytest.runner import runtestprotocol
from tests.mutation.installing import installed
from tests.mutation.mutants import MODULES, SOURCE, Mutant
from tests.shelf import Shelf
from tests.simulation.runs import run_all

from rowlock.db import statements

MAX_CPU_SECONDS = 40
MAX_SECONDS = 400
"""A mutant that takes longer does not end, which is noticed too."""
RESULTS = "results.jsonl"
UNCHANGED_RESULTS = "unchanged.jsonl"
DATABASES = {"sqlite", "postgres", "postgres16", "cockroach", "serializable", "pooled"}
NEEDS_SERVER = re.compile("postgres|pg|cockroach|pooled|redis|shelf")
TRACED = {str(SOURCE / files[0]): files[0] for files in MODULES.values()}


class Tested(msgspec.Struct, frozen=True):
    """What a test costs, and which lines and statements it touches."""

    seconds: float
    touched: frozenset[str]


class Result(msgspec.Struct, frozen=True):
    """What became of a mutant on a database."""

    name: str
    module: str
    database: str
    noticed_by: str
    """The test that failed, or the seed; empty if the mutant survived."""
    seconds: float


class Runner:
    """A plugin of pytest that takes the place of its loop over the tests."""

    def __init__(self, folder: Path, mutants: Sequence[Mutant], given: argparse.Namespace) -> None:
        self._results = folder / (UNCHANGED_RESULTS if given.unchanged else RESULTS)
        self._map = folder / f"map-{given.database}.json"
        self._mutants = mutants
        self._database: str = given.database
        self._given = given
        self._shelf: Shelf | None = None
        self._noticing: Counter[tuple[str, str]] = Counter()
        """How many mutants of a file, or of any, each test has noticed: those tests are tried first."""
        for result in read(self._results):
            self._note(result.name.partition(":")[0], result.noticed_by)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that run on the database."""
        items[:] = [item for item in items if self._is_wanted(item)]

    def _is_wanted(self, item: pytest.Item) -> bool:
        databases = set(re.split(r"[\[\]-]", item.name)[1:]) & DATABASES
        fixtures = getattr(item, "fixturenames", ())
        if databases:
            return databases == {self._database}
        if self._database == "postgres":
            return "postgres_url" in fixtures
        return not any(map(NEEDS_SERVER.match, fixtures))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Note where the databases of the server are kept."""
        found = yield
        if fixturedef.argname == "shelf":
            self._shelf = found
        return found

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Map the tests that were not mapped yet, then run them against each mutant."""
        runtestprotocol(session.items[0], log=False, nextitem=session)  # type: ignore[arg-type] # what all share stays
        self._in_child(lambda: _map_new_tests(session, self._map))
        tested = _read_map(self._map)
        items = {item.nodeid: item for item in session.items}
        for mutant in self._mutants:
            result = self._tried(mutant, [items[each] for each in self._chosen(mutant, tested) if each in items])
            self._note(mutant.file, result.noticed_by)
            with self._results.open("ab") as file:
                file.write(msgspec.json.encode(result) + b"\n")
        return True

    def _note(self, file: str, noticed_by: str) -> None:
        test = noticed_by.replace("postgres", "sqlite")
        self._noticing[file, test] += 1
        self._noticing["", test] += 1

    def _chosen(self, mutant: Mutant, tested: dict[str, Tested]) -> Iterator[str]:
        touching = [test for test, each in tested.items() if each.touched & mutant.touched]
        left: float = self._given.seconds
        for test in sorted(touching, key=lambda test: (*self._rank(mutant, test), tested[test].seconds)):
            left -= tested[test].seconds
            if left > 0:
                yield test

    def _rank(self, mutant: Mutant, test: str) -> tuple[int, ...]:
        """Return what decides how early a test is tried."""
        is_first = re.search(self._given.first, test) is not None
        known = test.replace("postgres", "sqlite")
        return not is_first, -self._noticing[mutant.file, known], -self._noticing["", known]

    def _tried(self, mutant: Mutant, items: Sequence[pytest.Item]) -> Result:
        begun = time.monotonic()

        def noticed() -> str:
            with installed(mutant):
                return _first_failure(items) or (_wrong_seed(self._given.seeds) if self._database == "sqlite" else "")

        said = self._in_child(noticed, max_cpu_seconds=MAX_CPU_SECONDS)
        return Result(mutant.name, mutant.module, self._database, said, round(time.monotonic() - begun, 2))

    def _in_child(self, work: Callable[[], str | None], *, max_cpu_seconds: int | None = None) -> str:
        """Run a function in a forked process, with databases of its own."""
        with self._shelf.copied() if self._shelf else nullcontext():
            return in_child(work, max_cpu_seconds=max_cpu_seconds)


def _first_failure(items: Sequence[pytest.Item]) -> str:
    for item in items:
        reports = runtestprotocol(item, log=False, nextitem=item.session)  # type: ignore[arg-type]
        if any(report.failed for report in reports):
            return item.nodeid
    return ""


def _wrong_seed(seeds: int) -> str:
    return "".join(f"the simulation, seed {seed}" for seed in run_all(range(seeds), stop=True).failed)


def in_child(work: Callable[[], str | None], *, max_cpu_seconds: int | None = None) -> str:
    """Run a function in a forked process and return what it returns, or how the process ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _run_and_exit(work, writing, max_cpu_seconds)
    os.close(writing)
    alarm = threading.Timer(MAX_SECONDS, os.kill, (child, signal.SIGKILL))
    if max_cpu_seconds:
        alarm.start()
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    alarm.cancel()
    if max_cpu_seconds:
        alarm.join()  # no thread may be there at the next fork
    return said if status == 0 else f"the process ended with {status}"


def _run_and_exit(work: Callable[[], str | None], writing: int, max_cpu_seconds: int | None) -> None:
    status = 1
    try:
        if max_cpu_seconds:
            used = int(time.process_time())
            resource.setrlimit(resource.RLIMIT_CPU, (used + max_cpu_seconds, used + max_cpu_seconds))
        os.write(writing, (work() or "").encode())
        status = 0
    finally:
        os._exit(status)


def _map_new_tests(session: pytest.Session, path: Path) -> None:
    """Run each test once that is not in the map, and write what it touches."""
    found = _read_map(path)
    touched: set[str] = set()
    _trace(touched)
    for item in session.items:
        if item.nodeid not in found:
            touched.clear()
            begun = time.process_time()
            reports = runtestprotocol(item, log=False, nextitem=session)  # type: ignore[arg-type]
            passed = all(report.passed for report in reports)
            found[item.nodeid] = Tested(time.process_time() - begun, frozenset(touched if passed else ()))
    path.write_bytes(msgspec.json.encode(found))


def _read_map(path: Path) -> dict[str, Tested]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Tested]) if path.exists() else {}


def _trace(touched: set[str]) -> None:
    real = statements.source

    def source(name: str, dialects: tuple[str, ...]) -> Path:
        touched.add(f"sql/{name}")
        return real(name, dialects)

    def trace(frame: FrameType, _event: str, _argument: object) -> Any:
        file = TRACED.get(frame.f_code.co_filename)
        if file is None:
            return None
        touched.add(f"{file}:{frame.f_lineno}")
        return trace

    statements.source = source
    threading.settrace(trace)
    sys.settrace(trace)


def read(path: Path) -> list[Result]:
    """Return the results so far."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [msgspec.json.decode(line, type=Result) for line in lines]
