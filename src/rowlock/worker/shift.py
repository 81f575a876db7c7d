"""A shift: one session's worth of work. It claims as demand allows, runs handlers, settles what comes back."""

import queue
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec

from rowlock import claims, gates
from rowlock.attempts import Policy
from rowlock.claims import Taken
from rowlock.engine import Session
from rowlock.errors import InvalidData
from rowlock.model import Item, Settings
from rowlock.nesting import MAX_LEVELS, is_too_deep
from rowlock.outcomes import Fail, Outcome
from rowlock.worker.batches import run_batch
from rowlock.worker.crew import Crew, Finish
from rowlock.worker.handlers import Handler, Kind
from rowlock.worker.hands import Before, Hand
from rowlock.worker.leasing import Hooks
from rowlock.worker.rate import Rate
from rowlock.worker.settling import Settling, Told
from rowlock.worker.source import Post
from rowlock.worker.supply import Supply

if TYPE_CHECKING:
    from rowlock.worker.loop import Loop

LARGEST_CLAIM = 1_000
LOOK_AHEAD = 0.1
"""Seconds of work that are claimed beyond what the slots hold, so that they do not wait for the database."""
OVERDUE_CHECK = 0.05


class Order(msgspec.Struct, frozen=True):
    """What to claim next, for whom, and by which rules."""

    list: str
    handler: Handler
    rules: Policy
    limit: int
    plain: bool
    limited: bool


def _loop(finish: Finish) -> "Loop":
    from rowlock.worker.loop import Loop  # asyncio is heavy, and only async handlers need it

    return Loop(finish=finish)


class Shift:
    """Works under one session until it is told to stop, or the session is lost."""

    def __init__(
        self,
        post: Post,
        session: Session,
        handlers: Sequence[Handler],
        *,
        concurrency: int,
        flush: float,
        before: Before,
        told: Told,
        leases: Hooks,
    ) -> None:
        self._post = post
        self._source = post.source
        self._before = before
        self._monotonic = post.source.world.monotonic
        self._session = session
        self._concurrency = concurrency
        self._flush = flush
        self._supply = Supply(post, session, handlers, hooks=leases)
        self._settling = Settling(post.source, session, told=told)
        self._crew = Crew(concurrency, finish=self._finish, run_batch=self._run_batch, monotonic=self._monotonic)
        self._loop = _loop(self._finish) if any(h.kind is Kind.ASYNC for h in handlers) else None
        self._hands: list[Hand] = []
        self._clearing = False
        self._rate = Rate(self._monotonic)
        self._flushed_at = self._monotonic()
        self._timed = any(handler.timeout is not None for handler in handlers)
        self._waiting = False
        self._hungry_at = concurrency - 1
        self.longest_wait = inf
        """Seconds after which the worker looks at itself again, whatever there is to wait for."""
        self.events: queue.SimpleQueue[str] = queue.SimpleQueue()
        """What wakes the worker's thread: something finished, a hint that work was added, a stop."""

    def _finish(self, hand: Hand, item: Item, outcome: Outcome) -> None:
        # In the thread of the handler: the worker's is woken only if it waits, and for enough to be worth it.
        urgent = hand.finish(item, outcome)
        if self._waiting and (urgent or self._slots <= self._hungry_at):
            self._waiting = False
            self.events.put("finished")

    def _run_batch(self, hand: Hand) -> None:
        # In the thread of the handler.
        verdicts = run_batch(self._post, self._session, hand)
        self._settling.note(hand.finished, verdicts)
        self.events.put("finished")

    def step(self, *, claiming: bool) -> bool:
        """Settle what is due, claim if there is room, else wait a little; whether anything is in hand or was found."""
        if self._timed:
            self._crew.relieve_overdue()
        self._write_uneven()
        quick = [hand for hand in self._hands if not hand.over and hand.all_done()]
        found = self._travel(quick, self._next_order() if claiming else None)
        self._hands = [hand for hand in self._hands if not hand.over]
        if self._supply.awaited:
            self._supply.look_again(self._unsettled())
        if not found and not quick:
            self._wait()
        return found or bool(self._hands)

    @property
    def in_hand(self) -> int:
        """Items that are claimed and not finished."""
        return sum(hand.left for hand in self._hands if not hand.over)

    @property
    def _slots(self) -> int:
        # What is worked in order needs one slot, however many items wait in it.
        return sum(min(1, hand.left) if hand.in_order else hand.left for hand in self._hands if not hand.over)

    @property
    def idle(self) -> bool:
        """Whether nothing is in hand and no list has its turn. Work may have come since the last look all the same."""
        return not self._hands and not self._supply.turns

    def offer(self, names: Sequence[str]) -> None:
        """Claim of these lists next, whatever the last look has shown."""
        for name in names:
            self._supply.offer(name)

    def _write_uneven(self) -> None:
        late = self._monotonic() - self._flushed_at >= self._flush
        for hand in self._hands:
            if hand.halted:
                hand.give_back()
            whole = hand.left <= 0
            if not hand.over and not hand.all_done() and (whole or ((late or hand.eager) and hand.unsettled)):
                self._rate.count(len(hand.unsettled))
                self._settling.write(hand, close=whole)
        if late:
            self._flushed_at = self._monotonic()

    def _next_order(self) -> Order | None:
        if self._must_be_alone():
            return None
        turn = self._supply.next(self._room)
        if turn is None:
            return None
        name, handler, room = turn
        settings = self._supply.settings(name)
        if settings.exclusive and self._at_work_on(name):
            return None
        limited = settings.limits is not None
        plain = not settings.keep_results and handler.within is None
        if limited:
            slots = room if handler.kind is Kind.BATCH else self._concurrency - self._slots
            room = self._limited_room(name, settings, min(room, slots))
        return Order(name, handler, handler.rules(settings), room, plain, limited) if room > 0 else None

    def _limited_room(self, name: str, settings: Settings, room: int) -> int:
        # What is handed out is begun, none is kept for later; and nobody asks for more than can be had.
        ours = self._unsettled()[name]
        if settings.concurrency is not None and ours >= settings.concurrency:
            self._supply.drop(name, awaited=ours)
            return 0
        return room

    def _at_work_on(self, name: str) -> bool:
        # Of an exclusive list one claim at a time is had: the next when this one is settled.
        return any(hand.taken.list == name and hand.left > 0 for hand in self._hands)

    def _must_be_alone(self) -> bool:
        # An item that may have killed a worker runs with nothing beside it: else nobody could say who did it.
        at_work = [hand for hand in self._hands if not hand.over]
        self._clearing = self._clearing and bool(at_work)
        return self._clearing or any(hand.taken.alone for hand in at_work)

    def _room(self, name: str, handler: Handler) -> int:
        in_order = name in self._supply.leasing.held
        if in_order and self._at_work_on(name):
            return 0
        if handler.kind is Kind.BATCH:
            batches = [hand for hand in self._hands if hand.handler.kind is Kind.BATCH and not hand.over]
            running = sum(1 for hand in batches if hand.left > 0)
            return handler.batch if running < self._concurrency else 0
        ahead = min(2 * LARGEST_CLAIM, int(self._rate.per_second * LOOK_AHEAD))
        room = self._concurrency + ahead - self._slots
        self._hungry_at = self._concurrency + ahead - ahead // 2 - 1
        if in_order and room > ahead // 2:
            return min(max(1, ahead), LARGEST_CLAIM)  # as much as is soon done: others may wait for the list
        return min(room, LARGEST_CLAIM) if room > ahead // 2 else 0

    def _travel(self, quick: list[Hand], order: Order | None) -> bool:
        self._session.close_doubtful()
        works: list[Callable[[Any], Any]] = [self._settling.quick(hand) for hand in quick]
        ahead = order is not None and self._asks_ahead(order)
        if order is not None and ahead:
            ask = partial(self._session.ask_anew, order.list, limit=order.limit)
            works.append(claims.Taking(partial(ask, attempts_allowed=order.rules.attempts)))
        answers = self._source.trip(*works) if works else []
        for hand, verdicts in zip(quick, answers, strict=False):
            self._rate.count(len(hand.finished))
            self._settling.after_quick(hand, verdicts)
        if ahead:
            self._session.answered()
        if order is None:
            return False
        taken = answers[-1] if ahead else None
        if taken is None and not (ahead and self._post.thorough):
            allowed = order.rules.attempts
            taken = self._session.take_items(order.list, limit=order.limit, attempts_allowed=allowed, thorough=True)
        return self._take_on(taken, order)

    def _asks_ahead(self, order: Order) -> bool:
        if self._post.thorough:
            return True
        return not order.limited and (self._session.searched_lately(order.list) or not self._hands)

    def _take_on(self, taken: Taken | None, order: Order) -> bool:
        if taken is None:
            self._supply.drop(order.list, awaited=self._awaited(order))
            return False
        if taken.alone and any(not hand.over for hand in self._hands):
            self._source.run(claims.close, self._session.id, taken.token)
            self._clearing = True
            return False
        self._session.remember(taken)
        taken = self._decodable(taken, order)
        if not taken.items:
            return True
        if taken.exclusive:
            self._supply.leasing.note(taken.list)
        in_order = order.handler.kind is not Kind.BATCH and taken.list in self._supply.leasing.held
        terms = {"plain": order.plain, "in_order": in_order, "eager": order.limited}
        hand = Hand(taken, order.handler, order.rules, before=self._before, **terms)
        self._hands.append(hand)
        if self._loop is not None and order.handler.kind is Kind.ASYNC:
            self._loop.take_on(hand)
        else:
            self._crew.take_on(hand)
        return True

    def _decodable(self, taken: Taken, order: Order) -> Taken:
        """What is taken without the items whose data nobody can decode: these have failed, and say why."""
        deep = [item for item in taken.items if item.raw_data is not None and is_too_deep(item.raw_data)]
        if not deep:
            return taken
        hand = Hand(msgspec.structs.replace(taken, items=deep), order.handler, order.rules, plain=False)
        for item in deep:
            what = f"the data of {item.key!r} is nested deeper than {MAX_LEVELS} levels"
            hand.finish(item, Fail(what, kind=InvalidData.code))
        self._settling.write(hand, close=len(deep) == len(taken.items))
        failed = {item.position for item in deep}
        kept = [] if hand.over else [item for item in taken.items if item.position not in failed]
        return msgspec.structs.replace(taken, items=kept)

    def _awaited(self, order: Order) -> int:
        # Only what is in our own hands can end without anybody else looking after it: all of it for a gate, any for a
        # limit.
        ours = self._unsettled()[order.list]
        if order.limited or not ours:
            return ours
        return 1 if self._source.read(gates.is_awaited_by_name, order.list) else 0

    def _unsettled(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for hand in self._hands:
            if not hand.over:
                found[hand.taken.list] += len(hand.taken.items) - hand.settled
        return found

    def _wait(self) -> None:
        self._waiting = True
        try:
            event = self.events.get(timeout=self._seconds_to_wait())
        except queue.Empty:
            return
        finally:
            self._waiting = False
        if event == "hint":
            self._supply.look_soon()

    def _seconds_to_wait(self) -> float:
        # Turns without room: a handler that ends wakes us. No turns: look again when that is due, or at a hint.
        seconds = self._flush if self._supply.turns else max(0.001, self._supply.seconds_to_look())
        seconds = min(seconds, self.longest_wait)
        if any(hand.unsettled for hand in self._hands):
            seconds = min(seconds, max(0.001, self._flush - (self._monotonic() - self._flushed_at)))
        return min(seconds, OVERDUE_CHECK) if self._timed else seconds

    def hand_back(self) -> None:
        """Stop: what no handler has begun goes back; what is at work may finish."""
        for hand in self._hands:
            hand.give_back()
        for hand, item in self._crew.hand_back():
            hand.returned += len(hand.taken.items) if item is None else 1

    def drop(self) -> None:
        """The session is lost, or there is no more time: running work is told to stop, nothing of it is settled."""
        for hand in self._hands:
            hand.cancelled.set()
            hand.over = True
            self._crew.cancel(hand)
            if self._loop is not None:
                self._loop.cancel(hand)
        self._hands.clear()

    def write_all(self) -> None:
        """Settle whatever is finished and end every claim: the last act before the session closes."""
        for hand in self._hands:
            if not hand.over and (hand.handler.kind is not Kind.BATCH or hand.unsettled):
                self._settling.write(hand, close=True)
        self.drop()

    def dismiss(self) -> None:
        """Let threads, tasks and processes go; the session ends, and its leases with it."""
        self._supply.leasing.end()
        self._crew.dismiss()
        if self._loop is not None:
            self._loop.dismiss()
