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
from rowlock.worker.source import Post

SECONDS = 5.0
STORE = "store"

Question = Callable[[], str]
"""What is wrong; nothing if all is well."""


class Party(msgspec.Struct, frozen=True):
    """Processors that are reached by one sender: those given by name, and those of fitting lists."""

    sender: Sender
    given: Mapping[str, Processor] = {}
    fits: Callable[[str], bool] | None = None
    known: dict[str, Processor] = {}
    """Processors from the settings of fitting lists, as they were last read: asked while the store is down."""


def examine(post: Post, parties: Sequence[Party], *, seconds: float = SECONDS) -> dict[str, str]:
    """What is wrong with the store and with each processor, by name; "" if it is well.

    A processor without a health address counts as well. What has not answered in time is ill, whatever comes later.
    Processors from the settings of lists are read from the store; while it is down, those read last are asked.
    """
    asking = Asking(seconds)
    listed = threading.Event()
    asking.ask(STORE, lambda: _store(post, parties, asking, listed=listed))
    for party in parties:
        _ask_each(party.given, party.sender, asking)
    if not listed.wait(seconds / 2):
        _ask_known(parties, asking)
    return asking.answers()


def _store(post: Post, parties: Sequence[Party], asking: "Asking", *, listed: threading.Event) -> str:
    try:
        post.well()
        for party in parties:
            if party.fits is not None:
                found = post.source.read(lists.processors, fits=party.fits)
                party.known.clear()
                party.known.update(found)
    finally:
        _ask_known(parties, asking)
        listed.set()
    return ""


def _ask_known(parties: Sequence[Party], asking: "Asking") -> None:
    for party in parties:
        _ask_each(dict(party.known), party.sender, asking)


def _ask_each(processors: Mapping[str, Processor], sender: Sender, asking: "Asking") -> None:
    for name, processor in processors.items():
        asking.ask(f"processor of {name}", lambda processor=processor: _well(processor, sender, asking.left))  # type: ignore[misc]


def _well(processor: Processor, sender: Sender, seconds: float) -> str:
    target = processor.health_target
    if target is None:
        return ""
    answer = sender.get(target, seconds=max(0.001, seconds))
    return "" if answer.well else f"{target.shown} says {answer.line}"


class Asking:
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
