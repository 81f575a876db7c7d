"""The crew: threads that run plain and batch handlers. A handler that overstays loses its thread, not its slot."""

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rowlock.model import Item
from rowlock.outcomes import Outcome, Retry, of_exception, read
from rowlock.worker.handlers import Handler
from rowlock.worker.hands import Hand

if TYPE_CHECKING:
    from rowlock.worker.processes import Processes

Finish = Callable[[Hand, Item, Outcome], None]
Work = tuple[Hand, Item | None]


class Berth:
    """One thread's place: what it works on, and since when."""

    def __init__(self) -> None:
        self.work: Work | None = None
        self.since = 0.0
        self.relieved = False


class Crew:
    """Up to `size` threads; each takes the next piece of work when it has finished one."""

    def __init__(
        self, size: int, *, finish: Finish, run_batch: Callable[[Hand], None], monotonic: Callable[[], float]
    ) -> None:
        self._size = size
        self._finish = finish
        self._run_batch = run_batch
        self._monotonic = monotonic
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._berths: list[Berth] = []
        self._processes: Processes | None = None

    @property
    def waiting(self) -> int:
        """Pieces of work that no thread has begun."""
        return self._work.qsize()

    @property
    def busy(self) -> int:
        """Threads that are in a handler now."""
        return sum(1 for berth in self._berths if berth.work is not None)

    def take_on(self, hand: Hand) -> None:
        """Work through a claim: item by item, or as one batch."""
        if hand.handler.kind == "batch":
            self._work.put((hand, None))
            self._man(1)
            return
        for item in hand.taken.items:
            self._work.put((hand, item))
        self._man(len(hand.taken.items))

    def _man(self, wanted: int) -> None:
        idle = len(self._berths) - self.busy
        for _ in range(min(wanted - idle, self._size - len(self._berths))):
            self._start()

    def _start(self) -> None:
        berth = Berth()
        self._berths.append(berth)
        name = f"rowlock crew {len(self._berths)}"
        threading.Thread(target=self._serve, args=(berth,), name=name, daemon=True).start()

    def _serve(self, berth: Berth) -> None:
        while (work := self._work.get()) is not None:
            berth.since = self._monotonic()
            berth.work = work
            self._run(*work, berth)
            berth.work = None
            if berth.relieved:
                return

    def _run(self, hand: Hand, item: Item | None, berth: Berth) -> None:
        if hand.turn.cancelled.is_set():
            return
        if item is None:
            self._run_batch(hand)
            return
        outcome = self._in_process(hand, item) if hand.handler.kind == "process" else call(hand, item)
        if not berth.relieved:
            self._finish(hand, item, outcome)

    def _in_process(self, hand: Hand, item: Item) -> Outcome:
        if self._processes is None:
            from rowlock.worker.processes import Processes  # heavy, and only few handlers need it

            self._processes = Processes()
        return self._processes.run(hand, item)

    def relieve_overdue(self) -> None:
        """Free the slots of handlers that are past their time: the item is retried, the thread is left to itself."""
        now = self._monotonic()
        for berth in list(self._berths):
            work = berth.work
            if work is None or not self._overdue(work[0].handler, now - berth.since):
                continue
            hand, item = work
            berth.relieved = True
            self._berths.remove(berth)
            said = Retry(f"timed out after {hand.handler.timeout:g}s", kind="timeout")
            for each in hand.taken.items if item is None else (item,):
                self._finish(hand, each, said)

    @staticmethod
    def _overdue(handler: Handler, seconds: float) -> bool:
        # A process is stopped by the thread that waits for it.
        return handler.timeout is not None and handler.kind != "process" and seconds >= handler.timeout

    def hand_back(self) -> list[Work]:
        """Take back what no thread has begun."""
        back: list[Work] = []
        while True:
            try:
                work = self._work.get_nowait()
            except queue.Empty:
                return back
            if work is not None:
                back.append(work)

    def dismiss(self) -> None:
        """Let every thread go when it has finished what it is at."""
        for _ in self._berths:
            self._work.put(None)
        if self._processes is not None:
            self._processes.dismiss()


def call(hand: Hand, item: Item) -> Outcome:
    """Run a handler for one item and read its answer; whatever it raises is an outcome too."""
    try:
        return read(_called(hand, item))
    except Exception as error:
        return of_exception(error)


def _called(hand: Hand, item: Item) -> Any:
    if hand.handler.arguments == 2:
        return hand.handler.function(item, hand.turn)
    return hand.handler.function(item)
