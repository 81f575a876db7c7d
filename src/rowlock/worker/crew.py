"""The crew: threads that run plain and batch handlers. A handler that overstays loses its thread, not its slot."""

import logging
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rowlock.model import Item
from rowlock.outcomes import Outcome, Retry, from_exception, from_return_value
from rowlock.worker.handlers import Handler, Kind, Turn
from rowlock.worker.hands import Hand

if TYPE_CHECKING:
    from rowlock.worker.processes import Processes

log = logging.getLogger("rowlock.worker")

Finish = Callable[[Hand, Item, Outcome], None]
Work = tuple[Hand, Item | None]


class Berth:
    """One thread's place: what it works on, and since when. Its lock settles who ends a turn: handler or clock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.work: Work | None = None
        self.since = 0.0
        self.turn: Turn | None = None
        self.relieved = False
        self.ended = 0

    def end_turn(self) -> bool:
        """Whether the handler was in time: then the outcome is its own."""
        with self.lock:
            self.work = self.turn = None
            self.ended += not self.relieved
            return not self.relieved

    def relieve(self, work: Work) -> bool:
        """Whether the turn was still going on: then it is over now, and the handler is told."""
        with self.lock:
            if self.work is not work:
                return False
            self.relieved = True
            if self.turn is not None:
                self.turn.cancelled.set()
            return True


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
        self._counting = threading.Lock()
        self._given = 0
        self._ended = 0
        """What was taken back, or ended in berths that are no more."""
        self._processes: Processes | None = None

    def take_on(self, hand: Hand) -> None:
        """Work through a claim: item by item, or as one batch."""
        if hand.handler.kind is Kind.BATCH:
            self._put((hand, None))
        elif hand.in_order:
            self._put_next(hand)
        else:
            for item in hand.taken.items:
                self._put((hand, item))
        self._man()

    def _man(self) -> None:
        while len(self._berths) < min(self._size, self._unended):
            self._start()

    def _put(self, work: Work) -> None:
        with self._counting:
            self._given += 1
        self._work.put(work)

    def _put_next(self, hand: Hand) -> None:
        # The next of a hand that is worked in order, when the one before it has ended.
        if (item := hand.next()) is not None:
            self._put((hand, item))

    @property
    def _unended(self) -> int:
        # Counted by what was given and what has ended: a thread that has just taken its work may not look busy yet.
        return self._given - self._ended - sum(berth.ended for berth in self._berths)

    def _start(self) -> None:
        berth = Berth()
        self._berths.append(berth)
        name = f"rowlock crew {len(self._berths)}"
        threading.Thread(target=self._serve, args=(berth,), name=name, daemon=True).start()

    def _serve(self, berth: Berth) -> None:
        while not berth.relieved and (work := self._work.get()) is not None:
            berth.since = self._monotonic()
            berth.work = work
            hand, item = work
            if hand.cancelled.is_set():
                berth.end_turn()
            elif item is None:
                self._run_batch(hand)
                berth.end_turn()
            else:
                outcome = self._run(hand, item, berth)
                if berth.end_turn():
                    self._finish(hand, item, outcome)
                    self._put_next(hand)

    def _run(self, hand: Hand, item: Item, berth: Berth) -> Outcome:
        hand.begin(item)
        if hand.spans is None:
            return self._called(hand, item, berth)
        with hand.spans.of_item(item) as ended:
            outcome = self._called(hand, item, berth)
            ended(outcome)
        return outcome

    def _called(self, hand: Hand, item: Item, berth: Berth) -> Outcome:
        if hand.handler.kind is Kind.PROCESS:
            return self._in_process(hand, item)
        if hand.handler.arguments == 1:
            return call(hand.handler.function, item)
        berth.turn = Turn(hand.taken.token, threading.Event())
        return call(hand.handler.function, item, berth.turn)

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
            if work is None or not self._overdue(work[0].handler, now - berth.since) or not berth.relieve(work):
                continue
            self._berths.remove(berth)
            self._ended += berth.ended + 1
            hand, item = work
            if item is None:
                hand.cancelled.set()
            said = Retry(f"timed out after {hand.handler.timeout:g}s", kind="timeout")
            for each in hand.taken.items if item is None else (item,):
                self._finish(hand, each, said)
            self._put_next(hand)
            self._man()

    def cancel(self, hand: Hand) -> None:
        """Tell the handlers of a claim that nothing will be settled."""
        for berth in list(self._berths):
            work, turn = berth.work, berth.turn
            if work is not None and work[0] is hand and turn is not None:
                turn.cancelled.set()

    @staticmethod
    def _overdue(handler: Handler, seconds: float) -> bool:
        # A process is stopped by the thread that waits for it.
        return handler.timeout is not None and handler.kind is not Kind.PROCESS and seconds >= handler.timeout

    def hand_back(self) -> list[Work]:
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

    def dismiss(self) -> None:
        """Let every thread go when it has finished what it is at."""
        for _ in self._berths:
            self._work.put(None)
        if self._processes is not None:
            self._processes.dismiss()


def call(function: Callable[..., Any], *arguments: Any) -> Outcome:
    """Run a handler for one item and read its answer; whatever it raises is an outcome too."""
    try:
        return from_return_value(function(*arguments))
    except BaseException as error:  # one that leaves would take its thread's slot with it
        log.info("a handler raised", exc_info=error)
        return from_exception(error)
