"""The thread pool: runs plain and batch handlers. A handler that times out loses its thread; its slot is freed."""

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rowlock.model import Item
from rowlock.outcomes import Outcome, from_return_value
from rowlock.worker.handlers import Handler, HandlerKind, Turn
from rowlock.worker.settler import InFlightClaim

if TYPE_CHECKING:
    from rowlock.worker.process_pool import ProcessPool

Finish = Callable[[InFlightClaim, Item, Outcome], None]
Work = tuple[InFlightClaim, Item | None]
"""One item of a claim; None for all of them as a batch."""


class Slot:
    """One thread and its work. Its lock decides who ends a turn: the handler or its timeout."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.work: Work | None = None
        self.since = 0.0
        self.turn: Turn | None = None
        self.timed_out = False
        self.ended = 0
        """How many pieces of work have ended in it."""

    def end_turn(self) -> bool:
        """End the turn, and return whether the handler was in time: then its outcome counts."""
        with self.lock:
            self.work = self.turn = None
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
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._slots: list[Slot] = []
        self._unended = 0
        """Pieces of work that were submitted, less those that were given back or ended in a slot that timed out."""
        self._processes: ProcessPool | None = None

    def submit(self, claim: InFlightClaim) -> None:
        """Run a claim: item by item, or as one batch; in the worker's thread."""
        if claim.handler.kind is HandlerKind.BATCH:
            self._put([(claim, None)])
        elif claim.in_order:
            self._put_next(claim)
        else:
            self._put([(claim, item) for item in claim.items])

    def _put(self, works: list[Work]) -> None:
        self._unended += len(works)
        for work in works:
            self._queue.put(work)
        # Counted by what was submitted and has ended: a thread that has just taken its work may not look busy yet.
        while len(self._slots) < min(self._size, self._unended - sum(slot.ended for slot in self._slots)):
            slot = Slot()
            self._slots.append(slot)
            name = f"rowlock worker {len(self._slots)}"
            threading.Thread(target=self._serve, args=(slot,), name=name, daemon=True).start()

    def _put_next(self, claim: InFlightClaim) -> None:
        # Only a claim that is worked in order has a next item.
        item = claim.next_item()
        self._put([] if item is None else [(claim, item)])

    def _serve(self, slot: Slot) -> None:
        while not slot.timed_out and (work := self._queue.get()) is not None:
            claim, item = work
            slot.since, slot.work = self._monotonic(), work
            if claim.cancelled.is_set():
                slot.end_turn()
            elif item is None:
                self._run_batch(claim)
                slot.end_turn()
            elif self._run(claim, item, slot) and claim.in_order and (following := claim.next_item()) is not None:
                self._queue.put((claim, following))  # at the end: other lists have their turn in between
                continue
            slot.ended += 1

    def _run(self, claim: InFlightClaim, item: Item, slot: Slot) -> bool:
        """Run the handler for an item; return whether it was in time."""
        if claim.before is not None:
            claim.before(item)
        if claim.spans is None:
            outcome = self._call(claim, item, slot)
        else:
            with claim.spans.of_item(item) as ended:
                outcome = self._call(claim, item, slot)
                ended(outcome)
        in_time = slot.end_turn()
        if in_time:
            self._finish(claim, item, outcome)
        return in_time

    def _call(self, claim: InFlightClaim, item: Item, slot: Slot) -> Outcome:
        handler = claim.handler
        if handler.kind is HandlerKind.PROCESS:
            return self._in_process(claim, item)
        arguments: tuple[Any, ...] = (item,)
        if handler.arguments == 2:
            slot.turn = Turn(claim.token, threading.Event())
            arguments = (item, slot.turn)
        try:
            return from_return_value(handler.function(*arguments))
        except BaseException as error:  # an escaping exception would end the thread and lose its slot
            return claim.failed(error, item)

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
            if work is None or not _is_overdue(work[0].handler, now - slot.since) or not slot.time_out(work):
                continue
            self._slots.remove(slot)
            self._unended -= slot.ended + 1
            claim, item = work
            if item is None:
                claim.cancelled.set()
            timed_out = claim.timed_out(item)
            for each in claim.items if item is None else (item,):
                self._finish(claim, each, timed_out)
            self._put_next(claim)  # and start a thread in place of the lost one

    def cancel(self, claim: InFlightClaim) -> None:
        """Set `cancelled` for the handlers of a claim of which nothing will be settled."""
        for slot in list(self._slots):
            work, turn = slot.work, slot.turn
            if work is not None and work[0] is claim and turn is not None:
                turn.cancelled.set()

    def return_unstarted(self) -> None:
        """Give back what no thread has begun; in the worker's thread."""
        while True:
            try:
                work = self._queue.get_nowait()
            except queue.Empty:
                return
            if work is not None:
                claim, item = work
                self._unended -= 1
                claim.returned += len(claim.items) if item is None else 1

    def shutdown(self) -> None:
        """End every thread when it has finished its work."""
        for _ in self._slots:
            self._queue.put(None)
        if self._processes is not None:
            self._processes.shutdown()


def _is_overdue(handler: Handler, seconds: float) -> bool:
    # A process is stopped by the thread that waits for it.
    return handler.timeout is not None and handler.kind is not HandlerKind.PROCESS and seconds >= handler.timeout
