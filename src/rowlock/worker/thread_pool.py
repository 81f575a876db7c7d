"""The crew: threads that run plain and batch handlers. A handler that overstays loses its thread, not its slot."""

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
    """One thread's place: what it works on, and since when. Its lock settles who ends a turn: handler or clock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.work: Work | None = None
        self.since = 0.0
        self.turn: Turn | None = None
        self.timed_out = False
        self.ended = 0

    def end_turn(self) -> bool:
        """Whether the handler was in time: then the outcome is its own."""
        with self.lock:
            self.work = self.turn = None
            self.ended += not self.timed_out
            return not self.timed_out

    def time_out(self, work: Work) -> bool:
        """Whether the turn was still going on: then it is over now, and the handler is told."""
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
        """What was taken back, or ended in berths that are no more."""
        self._processes: ProcessPool | None = None

    def submit(self, claim: InFlightClaim) -> None:
        """Work through a claim: item by item, or as one batch."""
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
        # The next of a hand that is worked in order, when the one before it has ended.
        if (item := claim.next_item()) is not None:
            self._put((claim, item))

    @property
    def _unended(self) -> int:
        # Counted by what was given and what has ended: a thread that has just taken its work may not look busy yet.
        return self._given - self._ended - sum(slot.ended for slot in self._slots)

    def _start(self) -> None:
        slot = Slot()
        self._slots.append(slot)
        name = f"rowlock crew {len(self._slots)}"
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
            from rowlock.worker.process_pool import ProcessPool  # heavy, and only few handlers need it

            self._processes = ProcessPool()
        return self._processes.run(claim, item)

    def cancel_overdue(self) -> None:
        """Free the slots of handlers that are past their time: the item is retried, the thread is left to itself."""
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
        """Tell the handlers of a claim that nothing will be settled."""
        for slot in list(self._slots):
            work, turn = slot.work, slot.turn
            if work is not None and work[0] is claim and turn is not None:
                turn.cancelled.set()

    @staticmethod
    def _overdue(handler: Handler, seconds: float) -> bool:
        # A process is stopped by the thread that waits for it.
        return handler.timeout is not None and handler.kind is not HandlerKind.PROCESS and seconds >= handler.timeout

    def take_back_unstarted(self) -> list[Work]:
        """Take back what no thread has begun."""
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
        """Let every thread go when it has finished what it is at."""
        for _ in self._slots:
            self._work.put(None)
        if self._processes is not None:
            self._processes.shutdown()


def call(function: Callable[..., Any], *arguments: Any) -> Outcome:
    """Run a handler for one item and read its answer; whatever it raises is an outcome too."""
    try:
        return from_return_value(function(*arguments))
    except BaseException as error:  # one that leaves would take its thread's slot with it
        log.info("a handler raised", exc_info=error)
        return from_exception(error)
