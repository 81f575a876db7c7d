"""The work loop: under one session it claims what there is room for, has handlers run it, and settles the outcomes."""

import queue
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec

from rowlock import claims, gates
from rowlock.claims import ClaimedItems
from rowlock.db import Hint
from rowlock.engine import Session
from rowlock.errors import InvalidData
from rowlock.json_codec import MAX_LEVELS, is_too_deep
from rowlock.model import NO_DATA, Item
from rowlock.outcomes import Fail, Outcome
from rowlock.worker.backend import Backend
from rowlock.worker.batch_handlers import run_batch
from rowlock.worker.handlers import Handler, HandlerKind
from rowlock.worker.hooks import ItemHooks
from rowlock.worker.lease_holder import LeaseHook
from rowlock.worker.planner import ListRotation, Load, Planner
from rowlock.worker.settler import InFlightClaim, PlannedClaim, Settler
from rowlock.worker.thread_pool import Finish, ThreadPool
from rowlock.worker.typed_items import decode_all

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from rowlock.worker.event_loop import EventLoop
    from rowlock.worker.exec.commands import CommandExecutor

    Executor = ThreadPool | EventLoop | CommandExecutor

Taken = list[tuple[PlannedClaim, ClaimedItems | None]]
"""What each list that was searched has given."""
OVERDUE_CHECK_SECONDS = 0.05
FINISH_SECONDS = 0.001
"""How long the last items of a list have the processor to themselves before the list is searched for more."""
MAX_EXHAUSTED_LISTS = 100
"""Lists that one transaction puts to sleep. Adders wait for their locks until it commits."""
_TOO_DEEP = f"the data of {{!r}} is nested deeper than {MAX_LEVELS} levels"


class WorkLoop:
    """Works under one session until it is stopped or the session is lost."""

    def __init__(
        self,
        backend: Backend,
        session: Session,
        handlers: Sequence[Handler],
        *,
        concurrency: int,
        flush: float,
        max_wait: float,
        event_loop: "AbstractEventLoop | None" = None,
        hooks: ItemHooks,
        on_lease: LeaseHook,
    ) -> None:
        self._backend = backend
        self._engine = backend.engine
        self._session = session
        self._hooks = hooks
        self._flush = flush
        self._max_wait = max_wait
        """Seconds after which a step ends, whatever there is to wait for."""
        self._monotonic = self._engine.environment.monotonic
        self._claimer = backend.claimer(session)
        self._planner = Planner(concurrency, monotonic=self._monotonic)
        self._rotation = ListRotation(backend, session, handlers, planner=self._planner, on_lease=on_lease)
        self._settler = Settler(self._engine, session, after=hooks.after)
        self._threads = ThreadPool(
            concurrency, finish=self._finish, run_batch=self._run_batch, monotonic=self._monotonic
        )
        self._special = _special_executors(handlers, concurrency, self._finish, event_loop)
        self._executors: list[Executor] = [self._threads, *self._special.values()]
        self._in_flight: list[InFlightClaim] = []
        self._exhausted: dict[str, None] = {}
        """Lists that gave all they had, and whose claims are settled: probably they are empty."""
        self._clearing = False
        """Whether nothing is claimed until all in flight has ended: an item waits that must run alone."""
        self._flushed_at = self._monotonic()
        self._has_timeouts = any(handler.timeout is not None for handler in handlers)
        self._waiting = False
        self.events: queue.SimpleQueue[str | Hint] = queue.SimpleQueue()
        """Wakes the worker's thread: something finished, a hint that work was added, a stop."""

    def step(self, *, claiming: bool) -> bool:
        """Settle what is due, claim if there is room, else wait; return whether anything is in flight or was found."""
        if self._has_timeouts:
            self._threads.cancel_overdue()
        done = self._settle_due()
        plan = self._plan() if claiming else None
        taken = self._settle_and_claim(done, plan)
        found = sum(self._start(claimed, each) for each, claimed in taken) > 0  # all are started
        self._in_flight = [claim for claim in self._in_flight if not claim.ended]
        if len(self._exhausted) >= MAX_EXHAUSTED_LISTS:
            self._drop_empty()
        if self._rotation.awaited:
            self._rotation.resume_awaited(self._in_flight)
        others_in_turn = plan is not None and self._rotation.turns
        if found:
            if self._is_exhausted(taken):
                self._wait(FINISH_SECONDS)
        elif not done and not others_in_turn:
            self._wait()
        return found or bool(self._in_flight)

    def _is_exhausted(self, taken: Taken) -> bool:
        """Return whether the lists in turn have just given less than was asked of them."""
        short = {plan.list for plan, claimed in taken if claimed is None or len(claimed.items) < plan.limit}
        return short.issuperset(self._rotation.turns)

    def _settle_due(self) -> list[InFlightClaim]:
        """Write outcomes that need more than one statement, when they are due; return the claims that are all done."""
        flushing = self._monotonic() - self._flushed_at >= self._flush
        done: list[InFlightClaim] = []
        finished = 0
        for claim in self._in_flight:
            if claim.halted:
                claim.return_unstarted()
            all_done, whole = claim.all_done, claim.unfinished <= 0
            due = whole or ((flushing or claim.settles_each) and claim.unwritten)
            if claim.ended or not due:  # last: a batch that has settled itself ends before it shows its outcomes
                continue
            finished += len(claim.unwritten)
            if all_done:
                done.append(claim)
            else:
                self._settler.settle(claim, close=whole)
        if self._in_flight:
            self._planner.count_finished(finished)
        if flushing:
            self._flushed_at = self._monotonic()
        return done

    def _plan(self) -> PlannedClaim | None:
        """Decide what to claim next, if anything."""
        load = Load.of(self._in_flight)
        self._clearing = self._clearing and any(not claim.ended for claim in self._in_flight)
        if self._clearing or load.must_run_alone:
            return None
        plan = self._rotation.next(load)
        if plan is None and self._planner.is_overbooked(load):
            # Other lists and other workers shall not wait for what is not begun here soon.
            self.return_unstarted()
        return plan

    def _settle_and_claim(self, done: list[InFlightClaim], plan: PlannedClaim | None) -> Taken:
        """Settle claims that are all done and claim what is planned, in one pipeline where that finds enough."""
        terms: Any = {} if plan is None else plan.terms
        claimer, name = self._claimer, None
        # A claim in a pipeline looks only after the frontier, unless a server searches.
        if plan is not None and (
            claimer.server_searches
            or (not plan.limited and (claimer.searched_recently(plan.list) or not self._in_flight))
        ):
            name = plan.list
        settlements = [self._settler.settle_done(claim) for claim in done]
        answers, claimed = claimer.settle_and_claim(settlements, name, **terms)
        try:
            for claim, verdicts in zip(done, answers, strict=True):
                self._settler.finish_done(claim, verdicts)
                if claim.took_all:
                    self._exhausted[claim.list] = None
        except BaseException:
            claimer.abandon(claimed)
            raise
        if claimed is None and plan is not None and not claimer.server_searches:
            # A worker that ends by itself must know whether anything is left.
            if name is not None and self._max_wait == inf and claimer.puts_off_search(name):
                self._rotation.poll_later()
            else:
                return self._search(plan)
        return [] if plan is None else [(plan, claimed)]

    def _search(self, first: PlannedClaim) -> Taken:
        """Claim from anywhere in the planned list, and from the lists after it as far as there is room."""
        if first.list in self._exhausted and first.list in self._drop_empty():
            return []
        others = self._rotation.others(first, Load.of(self._in_flight))
        if not others:
            return [(first, self._claimer.claim(first.list, thorough=True, **first.terms))]
        plans = {plan.list: plan for plan in (first, *others)}
        taken = self._claimer.claim_several({name: plan.terms for name, plan in plans.items()})
        for name in taken:
            self._rotation.pass_turn(name)
        return [(plans[name], claimed) for name, claimed in taken.items()] or [(first, None)]

    def _drop_empty(self) -> list[str]:
        """Put lists to sleep that are empty now that their last items are settled, and return their names."""
        empty = self._claimer.sleep_empty(list(self._exhausted))
        self._exhausted.clear()
        for name in empty:
            self._rotation.drop(name)
        return empty

    def _start(self, claimed: ClaimedItems | None, plan: PlannedClaim) -> bool:
        """Have the handler run what was claimed; return whether there was anything."""
        if claimed is None:
            self._rotation.drop(plan.list, awaited=self._awaited(plan))
            return False
        if claimed.alone and any(not claim.ended for claim in self._in_flight):
            # It may have killed a worker: it runs with nothing beside it, so that it is known who did it.
            self._engine.run(claims.close, self._session.id, claimed.token)
            self._clearing = True
            return False
        if self._rotation.has_gates and not self._rotation.serves(claimed, plan.handler):
            self._engine.run(claims.close, self._session.id, claimed.token)
            self._rotation.drop(plan.list)
            self._rotation.offer([plan.list])
            return False
        self._claimer.remember(claimed)
        deep = [item for item in claimed.items if item.raw != NO_DATA and is_too_deep(item.raw_data or "")]
        if deep or plan.gates or plan.handler.decode is not None:
            claimed = self._decode(claimed, plan, deep)
            if not claimed.items:
                return True
        if claimed.exclusive:
            self._rotation.leases.add(claimed.list)
        in_order = plan.handler.kind is not HandlerKind.BATCH and claimed.list in self._rotation.leases.names
        claim = InFlightClaim(claimed, plan, hooks=self._hooks, in_order=in_order)
        self._in_flight.append(claim)
        is_special = plan.handler.executor is not None or plan.handler.kind is HandlerKind.ASYNC
        executor: Executor = self._special[plan.handler.executor] if is_special else self._threads
        executor.submit(claim)
        return True

    def _decode(self, claimed: ClaimedItems, plan: PlannedClaim, deep: list[Item]) -> ClaimedItems:
        """Return the claim as the handler wants it: data decoded, gates named; items with wrong data fail."""
        bad = [(item, InvalidData(_TOO_DEEP.format(item.key))) for item in deep]
        items = [item for item in claimed.items if item not in deep] if deep else claimed.items
        gate_name = plan.gates[claimed.gate] if claimed.gate < len(plan.gates) else None
        if plan.handler.decode is not None:
            items, unfit = decode_all(items, plan.handler.decode, gate_name=gate_name)
            bad += unfit
        elif gate_name is not None:
            items = [msgspec.structs.replace(item, gate_name=gate_name) for item in items]
        if bad and self._fail(claimed, plan, bad):
            items = []
        return msgspec.structs.replace(claimed, items=items)

    def _fail(self, claimed: ClaimedItems, plan: PlannedClaim, bad: Sequence[tuple[Item, InvalidData]]) -> bool:
        """Fail items of a claim whose data is wrong, and return whether the claim has ended."""
        claim = InFlightClaim(
            msgspec.structs.replace(claimed, items=[item for item, _ in bad]), plan, hooks=self._hooks
        )
        for item, error in bad:
            claim.finish(item, claim.failed(error, item, outcome=Fail(error.what, kind=error.code)))
        self._settler.settle(claim, close=len(bad) == len(claimed.items))
        return claim.ended

    def _awaited(self, plan: PlannedClaim) -> int:
        # Only what is in flight here can end without anybody polling after it: all of it for a gate, any for a limit.
        unsettled = Load.of(self._in_flight).unsettled.get(plan.list, 0)
        if plan.limited or not unsettled:
            return unsettled
        return 1 if self._engine.read(gates.is_awaited_by_name, plan.list) else 0

    def _finish(self, claim: InFlightClaim, item: Item, outcome: Outcome) -> None:
        # In the handler's thread: the worker's is woken only if it waits, and for enough to be worth it.
        urgent = claim.finish(item, outcome)
        if self._waiting and (urgent or Load.of(self._in_flight).slots <= self._planner.wake_below):
            self._waiting = False
            self.events.put("finished")

    def _run_batch(self, claim: InFlightClaim) -> None:
        # In the handler's thread.
        verdicts = run_batch(self._backend, self._session, claim)
        self._settler.report(claim.finished, verdicts)
        self.events.put("finished")

    def _wait(self, most: float = inf) -> None:
        # Turns without room: a handler that ends wakes us. No turns: poll when that is due, or at a hint.
        seconds = self._flush if self._rotation.turns else max(0.001, self._rotation.seconds_to_poll())
        if self._has_timeouts:
            seconds = min(seconds, OVERDUE_CHECK_SECONDS)
        self._waiting = True  # from here on a handler that ends wakes us; what has ended before is seen below
        try:
            if any(claim.unwritten for claim in self._in_flight):
                seconds = min(seconds, max(0.001, self._flush - (self._monotonic() - self._flushed_at)))
            events = [self.events.get(timeout=min(seconds, self._max_wait, most))]
        except queue.Empty:
            return
        finally:
            self._waiting = False
        while not self.events.empty():
            events.append(self.events.get())
        for event in events:
            if isinstance(event, Hint):
                self._rotation.follow(event)

    @property
    def unfinished(self) -> int:
        """Items that are claimed and not finished."""
        return sum(claim.unfinished for claim in self._in_flight if not claim.ended)

    @property
    def idle(self) -> bool:
        """Whether nothing is in flight and all lists have had their turns. Work may have come since the last poll."""
        return not self._in_flight and not self._rotation.turns and not self._rotation.has_more

    def offer(self, names: Sequence[str]) -> None:
        """Claim of these lists next, whatever the last poll has shown."""
        self._rotation.offer(names)

    def return_unstarted(self) -> None:
        """Give back what no handler has begun; what runs may finish."""
        for claim in self._in_flight:
            claim.return_unstarted()
        for executor in self._executors:
            executor.return_unstarted()

    def settle_finished(self) -> None:
        """Settle whatever is finished and end every claim: the last act before the session closes."""
        for claim in self._in_flight:
            if not claim.ended and (claim.handler.kind is not HandlerKind.BATCH or claim.unwritten):
                self._settler.settle(claim, close=True)
        self.cancel()

    def cancel(self) -> None:
        """Tell running handlers to stop, and settle nothing: the session is lost, or the time is up."""
        for claim in self._in_flight:
            claim.cancelled.set()
            claim.ended = True
            for executor in self._executors:
                executor.cancel(claim)
        self._in_flight.clear()

    def shutdown(self) -> None:
        """End threads, tasks and processes; the session ends, and its leases with it."""
        self._rotation.leases.clear()
        for executor in self._executors:
            executor.shutdown()


def _special_executors(
    handlers: Sequence[Handler], size: int, finish: Finish, loop: "AbstractEventLoop | None"
) -> "dict[Any, Executor]":
    """Make the executors that handlers bring, by what makes them, and an event loop for async handlers."""
    made: dict[Any, Executor] = {each.executor: each.executor(size, finish) for each in handlers if each.executor}
    if any(handler.kind is HandlerKind.ASYNC for handler in handlers):
        made[None] = _event_loop(size, finish, loop)
    return made


def _event_loop(size: int, finish: Finish, loop: "AbstractEventLoop | None") -> "EventLoop":
    from rowlock.worker.event_loop import EventLoop  # asyncio is slow to import, and only async handlers need it

    return EventLoop(size, finish=finish, loop=loop)
