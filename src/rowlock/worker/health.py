"""Health: whether the store and the processors answer. All are asked at once, and nobody is waited for too long."""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from rowlock import lists
from rowlock.delivery.sender import Sender
from rowlock.errors import RowlockError
from rowlock.model import Processor
from rowlock.worker.backend import Backend

SECONDS = 5.0
STORE = "store"

Question = Callable[[], str]
"""What is wrong; nothing if all is well."""


class ProcessorGroup(msgspec.Struct, frozen=True):
    """Processors that are reached by one sender: those given by name, and those of fitting lists."""

    sender: Sender
    given: Mapping[str, Processor] = {}
    fits: Callable[[str], bool] | None = None
    known: dict[str, Processor] = {}
    """Processors from the settings of fitting lists, as they were last read: asked while the store is down."""


def examine(backend: Backend, groups: Sequence[ProcessorGroup], *, seconds: float = SECONDS) -> dict[str, str]:
    """What is wrong with the store and with each processor, by name; "" if it is well.

    A processor without a health address counts as well. What has not answered in time is ill, whatever comes later.
    Processors from the settings of lists are read from the store; while it is down, those read last are asked.
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
                found = backend.engine.read(lists.processors, fits=group.fits)
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
        checks.ask(f"processor of {name}", lambda processor=processor: _well(processor, sender, checks.left))  # type: ignore[misc]


def _well(processor: Processor, sender: Sender, seconds: float) -> str:
    target = processor.health_target
    if target is None:
        return ""
    answer = sender.get(target, seconds=max(0.001, seconds))
    return "" if answer.well else f"{target.shown} says {answer.line}"


class ConcurrentChecks:
    """Questions that are asked side by side, each in a thread of its own, and the answers that came in time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._names: dict[str, None] = {}
        self._answers: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self._until - time.monotonic()

    def ask(self, name: str, question: Question) -> None:
        """Ask; also one question may lead to others."""
        self._names[name] = None
        threading.Thread(target=self._answer, args=(name, question), daemon=True).start()

    def _answer(self, name: str, question: Question) -> None:
        try:
            self._answers.put((name, question()))
        except RowlockError as error:
            self._answers.put((name, error.what))

    def answers(self) -> dict[str, str]:
        """All answers, in the order of the questions; who has not answered is said to be silent."""
        found: dict[str, str] = {}
        while len(found) < len(self._names):
            try:
                found.update([self._answers.get(timeout=max(0.0, self.left))])
            except queue.Empty:
                break
        return {name: found.get(name, f"no answer within {self._seconds:g}s") for name in list(self._names)}
