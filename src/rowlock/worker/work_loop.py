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
from rowlock.claims import ClaimedItems
from rowlock.engine import Session
from rowlock.errors import InvalidData
from rowlock.model import Item, Settings
from rowlock.nesting import MAX_LEVELS, is_too_deep
from rowlock.outcomes import Fail, Outcome
from rowlock.worker.backend import Backend
from rowlock.worker.batches import run_batch
from rowlock.worker.handlers import Handler, HandlerKind
from rowlock.worker.in_flight import Before, InFlightClaim
from rowlock.worker.lease_holder import LeaseHooks
from rowlock.worker.list_rotation import ListRotation
from rowlock.worker.settler import Settler, Told
from rowlock.worker.thread_pool import Finish, ThreadPool
from rowlock.worker.throughput import Throughput

if TYPE_CHECKING:
    from rowlock.worker.event_loop import EventLoop

LARGEST_CLAIM = 1_000
LOOK_AHEAD = 0.1
"""Seconds of work that are claimed beyond what the slots hold, so that they do not wait for the database."""
OVERDUE_CHECK = 0.05


class PlannedClaim(msgspec.Struct, frozen=True):
    """What to claim next, for whom, and by which rules."""

    list: str
    handler: Handler
    rules: Policy
    limit: int
    plain: bool
    limited: bool


def _loop(finish: Finish) -> "EventLoop":
    from rowlock.worker.event_loop import EventLoop  # asyncio is heavy, and only async handlers need it

    return EventLoop(finish=finish)


class WorkLoop:
    """Works under one session until it is told to stop, or the session is lost."""

    def __init__(
        self,
        backend: Backend,
        session: Session,
        handlers: Sequence[Handler],
        *,
        concurrency: int,
        flush: float,
        before: Before,
        told: Told,
        leases: LeaseHooks,
    ) -> None:
        self._backend = backend
        self._source = backend.source
        self._before = before
        self._monotonic = backend.source.environment.monotonic
        self._session = session
        self._concurrency = concurrency
        self._flush = flush
        self._rotation = ListRotation(backend, session, handlers, hooks=leases)
        self._settler = Settler(backend.source, session, told=told)
        self._threads = ThreadPool(
            concurrency, finish=self._finish, run_batch=self._run_batch, monotonic=self._monotonic
        )
        self._loop = _loop(self._finish) if any(h.kind is HandlerKind.ASYNC for h in handlers) else None
        self._in_flight: list[InFlightClaim] = []
        self._clearing = False
        self._throughput = Throughput(self._monotonic)
        self._flushed_at = self._monotonic()
        self._timed = any(handler.timeout is not None for handler in handlers)
        self._waiting = False
        self._hungry_at = concurrency - 1
        self.longest_wait = inf
        """Seconds after which the worker looks at itself again, whatever there is to wait for."""
        self.events: queue.SimpleQueue[str] = queue.SimpleQueue()
        """What wakes the worker's thread: something finished, a hint that work was added, a stop."""

    def _finish(self, claim: InFlightClaim, item: Item, outcome: Outcome) -> None:
        # In the thread of the handler: the worker's is woken only if it waits, and for enough to be worth it.
        urgent = claim.finish(item, outcome)
        if self._waiting and (urgent or self._slots <= self._hungry_at):
            self._waiting = False
            self.events.put("finished")

    def _run_batch(self, claim: InFlightClaim) -> None:
        # In the thread of the handler.
        verdicts = run_batch(self._backend, self._session, claim)
        self._settler.note(claim.finished, verdicts)
        self.events.put("finished")

    def step(self, *, claiming: bool) -> bool:
        """Settle what is due, claim if there is room, else wait a little; whether anything is in hand or was found."""
        if self._timed:
            self._threads.cancel_overdue()
        self._write_uneven()
        quick = [claim for claim in self._in_flight if not claim.over and claim.all_done()]
        found = self._travel(quick, self._next_order() if claiming else None)
        self._in_flight = [claim for claim in self._in_flight if not claim.over]
        if self._rotation.awaited:
            self._rotation.look_again(self._unsettled())
        if not found and not quick:
            self._wait()
        return found or bool(self._in_flight)

    @property
    def in_hand(self) -> int:
        """Items that are claimed and not finished."""
        return sum(claim.left for claim in self._in_flight if not claim.over)

    @property
    def _slots(self) -> int:
        # What is worked in order needs one slot, however many items wait in it.
        return sum(min(1, claim.left) if claim.in_order else claim.left for claim in self._in_flight if not claim.over)

    @property
    def idle(self) -> bool:
        """Whether nothing is in hand and no list has its turn. Work may have come since the last look all the same."""
        return not self._in_flight and not self._rotation.turns

    def offer(self, names: Sequence[str]) -> None:
        """Claim of these lists next, whatever the last look has shown."""
        for name in names:
            self._rotation.offer(name)

    def _write_uneven(self) -> None:
        late = self._monotonic() - self._flushed_at >= self._flush
        for claim in self._in_flight:
            if claim.halted:
                claim.return_waiting()
            whole = claim.left <= 0
            if not claim.over and not claim.all_done() and (whole or ((late or claim.eager) and claim.unsettled)):
                self._throughput.count(len(claim.unsettled))
                self._settler.write(claim, close=whole)
        if late:
            self._flushed_at = self._monotonic()

    def _next_order(self) -> PlannedClaim | None:
        if self._must_be_alone():
            return None
        turn = self._rotation.next(self._room)
        if turn is None:
            return None
        name, handler, room = turn
        settings = self._rotation.settings(name)
        if settings.exclusive and self._at_work_on(name):
            return None
        limited = settings.limits is not None
        plain = not settings.keep_results and handler.within is None
        if limited:
            slots = room if handler.kind is HandlerKind.BATCH else self._concurrency - self._slots
            room = self._limited_room(name, settings, min(room, slots))
        return PlannedClaim(name, handler, handler.rules(settings), room, plain, limited) if room > 0 else None

    def _limited_room(self, name: str, settings: Settings, room: int) -> int:
        # What is handed out is begun, none is kept for later; and nobody asks for more than can be had.
        ours = self._unsettled()[name]
        if settings.concurrency is not None and ours >= settings.concurrency:
            self._rotation.drop(name, awaited=ours)
            return 0
        return room

    def _at_work_on(self, name: str) -> bool:
        # Of an exclusive list one claim at a time is had: the next when this one is settled.
        return any(claim.taken.list == name and claim.left > 0 for claim in self._in_flight)

    def _must_be_alone(self) -> bool:
        # An item that may have killed a worker runs with nothing beside it: else nobody could say who did it.
        at_work = [claim for claim in self._in_flight if not claim.over]
        self._clearing = self._clearing and bool(at_work)
        return self._clearing or any(claim.taken.alone for claim in at_work)

    def _room(self, name: str, handler: Handler) -> int:
        in_order = name in self._rotation.leases.held
        if in_order and self._at_work_on(name):
            return 0
        if handler.kind is HandlerKind.BATCH:
            batches = [claim for claim in self._in_flight if claim.handler.kind is HandlerKind.BATCH and not claim.over]
            running = sum(1 for claim in batches if claim.left > 0)
            return handler.batch if running < self._concurrency else 0
        ahead = min(2 * LARGEST_CLAIM, int(self._throughput.per_second * LOOK_AHEAD))
        room = self._concurrency + ahead - self._slots
        self._hungry_at = self._concurrency + ahead - ahead // 2 - 1
        if in_order and room > ahead // 2:
            return min(max(1, ahead), LARGEST_CLAIM)  # as much as is soon done: others may wait for the list
        return min(room, LARGEST_CLAIM) if room > ahead // 2 else 0

    def _travel(self, quick: list[InFlightClaim], plan: PlannedClaim | None) -> bool:
        self._session.close_doubtful()
        works: list[Callable[[Any], Any]] = [self._settler.quick(claim) for claim in quick]
        ahead = plan is not None and self._asks_ahead(plan)
        if plan is not None and ahead:
            ask = partial(self._session.ask_anew, plan.list, limit=plan.limit)
            works.append(claims.Taking(partial(ask, attempts_allowed=plan.rules.attempts)))
        answers = self._source.pipeline(*works) if works else []
        for claim, verdicts in zip(quick, answers, strict=False):
            self._throughput.count(len(claim.finished))
            self._settler.after_quick(claim, verdicts)
        if ahead:
            self._session.answered()
        if plan is None:
            return False
        taken = answers[-1] if ahead else None
        if taken is None and not (ahead and self._backend.thorough):
            allowed = plan.rules.attempts
            taken = self._session.take_items(plan.list, limit=plan.limit, attempts_allowed=allowed, thorough=True)
        return self._take_on(taken, plan)

    def _asks_ahead(self, plan: PlannedClaim) -> bool:
        if self._backend.thorough:
            return True
        return not plan.limited and (self._session.searched_lately(plan.list) or not self._in_flight)

    def _take_on(self, taken: ClaimedItems | None, plan: PlannedClaim) -> bool:
        if taken is None:
            self._rotation.drop(plan.list, awaited=self._awaited(plan))
            return False
        if taken.alone and any(not claim.over for claim in self._in_flight):
            self._source.run(claims.close, self._session.id, taken.token)
            self._clearing = True
            return False
        self._session.remember(taken)
        taken = self._decodable(taken, plan)
        if not taken.items:
            return True
        if taken.exclusive:
            self._rotation.leases.note(taken.list)
        in_order = plan.handler.kind is not HandlerKind.BATCH and taken.list in self._rotation.leases.held
        terms = {"plain": plan.plain, "in_order": in_order, "eager": plan.limited}
        claim = InFlightClaim(taken, plan.handler, plan.rules, before=self._before, **terms)
        self._in_flight.append(claim)
        if self._loop is not None and plan.handler.kind is HandlerKind.ASYNC:
            self._loop.submit(claim)
        else:
            self._threads.submit(claim)
        return True

    def _decodable(self, taken: ClaimedItems, plan: PlannedClaim) -> ClaimedItems:
        """What is taken without the items whose data nobody can decode: these have failed, and say why."""
        deep = [item for item in taken.items if item.raw_data is not None and is_too_deep(item.raw_data)]
        if not deep:
            return taken
        claim = InFlightClaim(msgspec.structs.replace(taken, items=deep), plan.handler, plan.rules, plain=False)
        for item in deep:
            what = f"the data of {item.key!r} is nested deeper than {MAX_LEVELS} levels"
            claim.finish(item, Fail(what, kind=InvalidData.code))
        self._settler.write(claim, close=len(deep) == len(taken.items))
        failed = {item.position for item in deep}
        kept = [] if claim.over else [item for item in taken.items if item.position not in failed]
        return msgspec.structs.replace(taken, items=kept)

    def _awaited(self, plan: PlannedClaim) -> int:
        # Only what is in our own hands can end without anybody else looking after it: all of it for a gate, any for a
        # limit.
        ours = self._unsettled()[plan.list]
        if plan.limited or not ours:
            return ours
        return 1 if self._source.read(gates.is_awaited_by_name, plan.list) else 0

    def _unsettled(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for claim in self._in_flight:
            if not claim.over:
                found[claim.taken.list] += len(claim.taken.items) - claim.settled
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
            self._rotation.look_soon()

    def _seconds_to_wait(self) -> float:
        # Turns without room: a handler that ends wakes us. No turns: look again when that is due, or at a hint.
        seconds = self._flush if self._rotation.turns else max(0.001, self._rotation.seconds_to_look())
        seconds = min(seconds, self.longest_wait)
        if any(claim.unsettled for claim in self._in_flight):
            seconds = min(seconds, max(0.001, self._flush - (self._monotonic() - self._flushed_at)))
        return min(seconds, OVERDUE_CHECK) if self._timed else seconds

    def return_unstarted(self) -> None:
        """Stop: what no handler has begun goes back; what is at work may finish."""
        for claim in self._in_flight:
            claim.return_waiting()
        for claim, item in self._threads.take_back_unstarted():
            claim.returned += len(claim.taken.items) if item is None else 1

    def drop(self) -> None:
        """The session is lost, or there is no more time: running work is told to stop, nothing of it is settled."""
        for claim in self._in_flight:
            claim.cancelled.set()
            claim.over = True
            self._threads.cancel(claim)
            if self._loop is not None:
                self._loop.cancel(claim)
        self._in_flight.clear()

    def write_all(self) -> None:
        """Settle whatever is finished and end every claim: the last act before the session closes."""
        for claim in self._in_flight:
            if not claim.over and (claim.handler.kind is not HandlerKind.BATCH or claim.unsettled):
                self._settler.write(claim, close=True)
        self.drop()

    def shutdown(self) -> None:
        """Let threads, tasks and processes go; the session ends, and its leases with it."""
        self._rotation.leases.end()
        self._threads.shutdown()
        if self._loop is not None:
            self._loop.shutdown()
