"""The thread pool: runs plain and batch handlers. A handler that times out loses its thread; its slot is freed."""

import logging
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rowlock.model import Item
from rowlock.outcomes import Outcome, Retry, from_exception, from_return_value
from rowlock.worker.handlers import Handler, HandlerKind, Turn
from rowlock.worker.in_flight import InFlightClaim

if TYPE_CHECKING:
    from rowlock.worker.process_pool import ProcessPool

log = logging.getLogger("rowlock.worker")

Finish = Callable[[InFlightClaim, Item, Outcome], None]
Work = tuple[InFlightClaim, Item | None]


class Slot:
    """One thread and its work. Its lock decides who ends a turn: the handler or its timeout."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.work: Work | None = None
        self.since = 0.0
        self.turn: Turn | None = None
        self.timed_out = False
        self.ended = 0

    def end_turn(self) -> bool:
        """End the turn, and return whether the handler was in time: then its outcome counts."""
        with self.lock:
            self.work = self.turn = None
            self.ended += not self.timed_out
            return not self.timed_out

    def time_out(self, work: Work) -> bool:
        """Cancel the turn, and return whether it was still going on."""
        with self.lock:
            if self.work is not work:
                return False
            self.timed_out = True
            if self.turn is not None:
                self.turn.cancelled.set()
            return True


class ThreadPool:
    """Up to `size` threads; each takes the next piece of work when it has finished one."""

    def __init__(
        self, size: int, *, finish: Finish, run_batch: Callable[[InFlightClaim], None], monotonic: Callable[[], float]
    ) -> None:
        self._size = size
        self._finish = finish
        self._run_batch = run_batch
        self._monotonic = monotonic
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._slots: list[Slot] = []
        self._counting = threading.Lock()
        self._given = 0
        self._ended = 0
        """What was taken back, or ended in slots that were given up."""
        self._processes: ProcessPool | None = None

    def submit(self, claim: InFlightClaim) -> None:
        """Run a claim: item by item, or as one batch."""
        if claim.handler.kind is HandlerKind.BATCH:
            self._put((claim, None))
        elif claim.in_order:
            self._put_next(claim)
        else:
            for item in claim.items:
                self._put((claim, item))
        self._start_threads()

    def _start_threads(self) -> None:
        while len(self._slots) < min(self._size, self._unended):
            self._start()

    def _put(self, work: Work) -> None:
        with self._counting:
            self._given += 1
        self._work.put(work)

    def _put_next(self, claim: InFlightClaim) -> None:
        # The next item of a claim that is worked in order, when the one before it has ended.
        if (item := claim.next_item()) is not None:
            self._put((claim, item))

    @property
    def _unended(self) -> int:
        # Counted by what was submitted and what has ended: a thread that has just taken its work may not look busy yet.
        return self._given - self._ended - sum(slot.ended for slot in self._slots)

    def _start(self) -> None:
        slot = Slot()
        self._slots.append(slot)
        name = f"rowlock worker {len(self._slots)}"
        threading.Thread(target=self._serve, args=(slot,), name=name, daemon=True).start()

    def _serve(self, slot: Slot) -> None:
        while not slot.timed_out and (work := self._work.get()) is not None:
            slot.since = self._monotonic()
            slot.work = work
            claim, item = work
            if claim.cancelled.is_set():
                slot.end_turn()
            elif item is None:
                self._run_batch(claim)
                slot.end_turn()
            else:
                outcome = self._run(claim, item, slot)
                if slot.end_turn():
                    self._finish(claim, item, outcome)
                    self._put_next(claim)

    def _run(self, claim: InFlightClaim, item: Item, slot: Slot) -> Outcome:
        claim.begin(item)
        if claim.spans is None:
            return self._called(claim, item, slot)
        with claim.spans.of_item(item) as ended:
            outcome = self._called(claim, item, slot)
            ended(outcome)
        return outcome

    def _called(self, claim: InFlightClaim, item: Item, slot: Slot) -> Outcome:
        if claim.handler.kind is HandlerKind.PROCESS:
            return self._in_process(claim, item)
        if claim.handler.arguments == 1:
            return call(claim.handler.function, item)
        slot.turn = Turn(claim.token, threading.Event())
        return call(claim.handler.function, item, slot.turn)

    def _in_process(self, claim: InFlightClaim, item: Item) -> Outcome:
        if self._processes is None:
            from rowlock.worker.process_pool import ProcessPool  # slow to import, and few handlers need it

            self._processes = ProcessPool()
        return self._processes.run(claim, item)

    def cancel_overdue(self) -> None:
        """Free the slots of handlers that have timed out: their items are retried, their threads run on."""
        now = self._monotonic()
        for slot in list(self._slots):
            work = slot.work
            if work is None or not self._overdue(work[0].handler, now - slot.since) or not slot.time_out(work):
                continue
            self._slots.remove(slot)
            self._ended += slot.ended + 1
            claim, item = work
            if item is None:
                claim.cancelled.set()
            said = Retry(f"timed out after {claim.handler.timeout:g}s", kind="timeout")
            for each in claim.items if item is None else (item,):
                self._finish(claim, each, said)
            self._put_next(claim)
            self._start_threads()

    def cancel(self, claim: InFlightClaim) -> None:
        """Set `cancelled` for the handlers of a claim of which nothing will be settled."""
        for slot in list(self._slots):
            work, turn = slot.work, slot.turn
            if work is not None and work[0] is claim and turn is not None:
                turn.cancelled.set()

    @staticmethod
    def _overdue(handler: Handler, seconds: float) -> bool:
        # A process is stopped by the thread that waits for it.
        return handler.timeout is not None and handler.kind is not HandlerKind.PROCESS and seconds >= handler.timeout

    def take_back_unstarted(self) -> list[Work]:
        """Take back and return what no thread has begun."""
        back: list[Work] = []
        while True:
            try:
                work = self._work.get_nowait()
            except queue.Empty:
                self._ended += len(back)
                return back
            if work is not None:
                back.append(work)

    def shutdown(self) -> None:
        """End every thread when it has finished its work."""
        for _ in self._slots:
            self._work.put(None)
        if self._processes is not None:
            self._processes.shutdown()


def call(function: Callable[..., Any], *arguments: Any) -> Outcome:
    """Run a handler for one item, and return its outcome; whatever it raises is one too."""
    try:
        return from_return_value(function(*arguments))
    except BaseException as error:  # an escaping exception would end the thread and lose its slot
        log.info("a handler raised", exc_info=error)
        return from_exception(error)
