"""Health checks of the database and the processors, all at once and with one deadline."""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from rowlock import workload
from rowlock.delivery.sender import Sender
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
    """Return the name of a processor's answer."""
    return f"processor of {processor}"


def examine(backend: Backend, groups: Sequence[ProcessorGroup], *, seconds: float = HEALTH_SECONDS) -> dict[str, str]:
    """Return what is wrong with the database and with each processor, by name; "" if it is well.

    A processor without a health address counts as well. One that has not answered in time counts as ill. Processors of
    lists are read from the database; while it is down, those read last are checked.
    """
    checks = ConcurrentChecks(seconds)
    listed = threading.Event()
    checks.ask(STORE, lambda: _store(backend, groups, checks, listed=listed))
    for group in groups:
        _ask_each(group.given, group.sender, checks)
    if not listed.wait(seconds / 2):
        _ask_known(groups, checks)
    return checks.answers()


def _store(
    backend: Backend, groups: Sequence[ProcessorGroup], checks: "ConcurrentChecks", *, listed: threading.Event
) -> str:
    try:
        backend.ping()
        for group in groups:
            if group.fits is not None:
                found = backend.engine.read(workload.processors, fits=group.fits)
                group.known.clear()
                group.known.update(found)
    finally:
        _ask_known(groups, checks)
        listed.set()
    return ""


def _ask_known(groups: Sequence[ProcessorGroup], checks: "ConcurrentChecks") -> None:
    for group in groups:
        _ask_each(dict(group.known), group.sender, checks)


def _ask_each(processors: Mapping[str, Processor], sender: Sender, checks: "ConcurrentChecks") -> None:
    for name, processor in processors.items():
        checks.ask(name_of(name), lambda processor=processor: _well(processor, sender, checks.left))  # type: ignore[misc]


def _well(processor: Processor, sender: Sender, seconds: float) -> str:
    target = processor.health_target
    if target is None:
        return ""
    answer = sender.get(target, seconds=max(0.001, seconds))
    return "" if answer.ok else f"{target.shown} says {answer.line}"


class ConcurrentChecks:
    """Checks that run side by side, each in a thread of its own, and their results until the deadline."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._names: dict[str, None] = {}
        self._answers: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self._until - time.monotonic()

    def ask(self, name: str, check: Check) -> None:
        """Start a check; a check may start others."""
        self._names[name] = None
        threading.Thread(target=self._answer, args=(name, check), daemon=True).start()

    def _answer(self, name: str, check: Check) -> None:
        try:
            self._answers.put((name, check()))
        except RowlockError as error:
            self._answers.put((name, error.what))

    def answers(self) -> dict[str, str]:
        """Return all results, in the order of the checks; one without a result counts as silent."""
        found: dict[str, str] = {}
        while len(found) < len(self._names):
            try:
                found.update([self._answers.get(timeout=max(0.0, self.left))])
            except queue.Empty:
                break
        return {name: found.get(name, f"no answer within {self._seconds:g}s") for name in list(self._names)}
