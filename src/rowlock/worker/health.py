"""Health checks of the database and the processors, all at once and with one deadline."""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from rowlock import backlog
from rowlock.delivery.http_sender import Sender
from rowlock.errors import RowlockError
from rowlock.model import Processor
from rowlock.worker.backend import Backend

HEALTH_SECONDS = 5.0
STORE = "store"

Check = Callable[[], str]
"""Returns what is wrong; an empty text if all is well."""


class ProcessorGroup(msgspec.Struct, frozen=True):
    """Processors that one sender reaches: those given by name, and those of fitting lists."""

    sender: Sender
    given: Mapping[str, Processor] = {}
    fits: Callable[[str], bool] | None = None
    known: dict[str, Processor] = {}
    """Processors of fitting lists, as their settings were last read: checked while the database is down."""


def name_of(processor: str) -> str:
    """Return the name under which a processor's health is reported."""
    return f"processor of {processor}"


def examine(backend: Backend, groups: Sequence[ProcessorGroup], *, seconds: float = HEALTH_SECONDS) -> dict[str, str]:
    """Return what is wrong with the database and with each processor, by name; "" if it is well.

    A processor without a health address counts as well. One that has not answered in time counts as ill. Processors of
    lists are read from the database; while it is down, those read last are checked.
    """
    checks = ConcurrentChecks(seconds)
    listed = threading.Event()

    def check_store() -> str:
        try:
            backend.ping()
            for group in groups:
                if group.fits is not None:
                    processors = backend.engine.read(backlog.processors, fits=group.fits)
                    group.known.clear()
                    group.known.update(processors)
        finally:
            check_known()
            listed.set()
        return ""

    def check_known() -> None:
        for group in groups:
            _check_each(dict(group.known), group.sender, checks)

    checks.start(STORE, check_store)
    for group in groups:
        _check_each(group.given, group.sender, checks)
    if not listed.wait(seconds / 2):
        check_known()
    return checks.results()


def _check_each(processors: Mapping[str, Processor], sender: Sender, checks: "ConcurrentChecks") -> None:
    for name, processor in processors.items():
        checks.start(name_of(name), partial(_check, processor, sender, checks))


def _check(processor: Processor, sender: Sender, checks: "ConcurrentChecks") -> str:
    target = processor.health_target
    if target is None:
        return ""
    answer = sender.get(target, seconds=max(0.001, checks.left))
    return "" if answer.ok else f"{target.shown} says {answer.line}"


class ConcurrentChecks:
    """Checks that run side by side, each in a thread of its own, and their results until the deadline."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._names: dict[str, None] = {}
        self._results: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self._until - time.monotonic()

    def start(self, name: str, check: Check) -> None:
        """Start a check; a check may start others."""
        self._names[name] = None
        threading.Thread(target=self._run, args=(name, check), daemon=True).start()

    def _run(self, name: str, check: Check) -> None:
        try:
            self._results.put((name, check()))
        except RowlockError as error:
            self._results.put((name, error.what))

    def results(self) -> dict[str, str]:
        """Return all results, in the order of the checks; one without a result counts as silent."""
        results: dict[str, str] = {}
        while len(results) < len(self._names):
            try:
                results.update([self._results.get(timeout=max(0.0, self.left))])
            except queue.Empty:
                break
        return {name: results.get(name, f"no answer within {self._seconds:g}s") for name in list(self._names)}
