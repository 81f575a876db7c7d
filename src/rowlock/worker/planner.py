"""The planner: which list a worker claims from next, and how many items.

`Planner` decides by numbers alone; it knows neither database nor threads. `ListRotation` polls for lists that may have
work and gives each its turn.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import Any

import msgspec

from rowlock import lists
from rowlock.claims import ClaimedItems
from rowlock.db import Hint
from rowlock.engine import Session
from rowlock.engine.settings_cache import SettingsCache
from rowlock.errors import NotFound
from rowlock.model import Settings
from rowlock.worker.backend import Backend
from rowlock.worker.handlers import Handler, HandlerKind
from rowlock.worker.lease_holder import LeaseHook
from rowlock.worker.settler import InFlightClaim, PlannedClaim

log = logging.getLogger("rowlock.worker")

MAX_CLAIM_ITEMS = 1_000
LOOKAHEAD_SECONDS = 0.1
"""How much work is claimed beyond what the slots hold, so that they do not wait for the database."""
THROUGHPUT_WINDOW_SECONDS = 0.25
MIN_POLL_SECONDS = 0.02
MAX_LISTS_PER_SEARCH = 20
"""Lists that one transaction searches. Their locks are held until it commits."""


class Load(msgspec.Struct, frozen=True):
    """What a worker has in flight at one moment."""

    slots: int = 0
    """Slots that unfinished items need: one for each item, batch, or claim that is worked in order."""
    batches: int = 0
    """Batch handlers that run."""
    lists: Set[str] = frozenset()
    """Lists with unfinished items."""
    unsettled: Mapping[str, int] = {}
    """Items whose outcomes are not written, by list."""
    must_run_alone: bool = False
    """Whether an item is in flight that may have killed a worker, and runs with nothing beside it."""

    @classmethod
    def of(cls, claims: Iterable[InFlightClaim]) -> "Load":
        """Add up the claims that have not ended."""
        slots = batches = 0
        lists: set[str] = set()
        unsettled: dict[str, int] = {}
        must_run_alone = False
        for claim in claims:
            if claim.ended:
                continue
            unsettled[claim.list] = unsettled.get(claim.list, 0) + claim.unsettled
            must_run_alone = must_run_alone or claim.must_run_alone
            if (unfinished := claim.unfinished) > 0:
                is_batch = claim.handler.kind is HandlerKind.BATCH
                slots += 1 if is_batch or claim.in_order else unfinished
                batches += is_batch
                lists.add(claim.list)
        return cls(slots, batches, lists, unsettled, must_run_alone)


class Planner:
    """Decides how many items may be claimed, from the slots, what is in flight, and how fast items get finished."""

    def __init__(self, concurrency: int, *, monotonic: Callable[[], float]) -> None:
        self._concurrency = concurrency
        self._monotonic = monotonic
        self._since = monotonic()
        self._finished = 0
        self._per_second = 0.0
        self.lookahead = 0
        """Items to claim beyond what the slots hold."""

    def count_finished(self, items: int) -> None:
        """Note that this many items have been finished since the last call; the throughput is smoothed."""
        self._finished += items
        passed = self._monotonic() - self._since
        if passed < THROUGHPUT_WINDOW_SECONDS and (self._per_second or not self._finished):
            return
        latest = self._finished / max(passed, 0.001)
        self._per_second = (self._per_second + latest) / 2 if self._per_second else latest
        self._since, self._finished = self._monotonic(), 0
        self.lookahead = min(2 * MAX_CLAIM_ITEMS, int(self._per_second * LOOKAHEAD_SECONDS))

    @property
    def wake_below(self) -> int:
        """The number of slots in use at which a finished item is worth another claim."""
        return self._concurrency + self.lookahead - self.lookahead // 2 - 1

    def is_overbooked(self, load: Load) -> bool:
        """Return whether far more is claimed than will soon be begun: handlers have become slower."""
        return load.slots > 2 * (self._concurrency + self.lookahead)

    def room(self, name: str, handler: Handler, *, load: Load, held: bool) -> int:
        """Return how many items of a list may be claimed; of one that is `held`, one claim is worked at a time."""
        if held and name in load.lists:
            return 0
        if handler.kind is HandlerKind.BATCH:
            return handler.batch if load.batches < self._concurrency else 0
        room = self._concurrency + self.lookahead - load.slots
        if room <= self.lookahead // 2:
            return 0
        # Of a list that others may wait for, only what is soon done.
        return min(max(1, self.lookahead) if held else room, MAX_CLAIM_ITEMS)

    def plan(self, name: str, handler: Handler, *, settings: Settings, load: Load, room: int) -> PlannedClaim | None:
        """Return the claim for a list that has room, by its settings; None if it must wait."""
        if settings.exclusive and name in load.lists:
            return None
        limited = settings.limits is not None
        if limited and handler.kind is not HandlerKind.BATCH:
            # What is claimed of a limited list is begun at once, and nothing of it is kept for later.
            room = min(room, self._concurrency - load.slots)
        if settings.concurrency is not None:
            room = min(room, settings.concurrency - load.unsettled.get(name, 0))
        if room <= 0:
            return None
        settles_whole = not settings.keeps_done and handler.within is None
        return PlannedClaim(name, handler, handler.rules(settings), room, settles_whole, limited, settings.gates)


class ListRotation:
    """Gives lists with work their turn, one after the other. Sleeping lists cost nothing, however many there are."""

    def __init__(
        self, backend: Backend, session: Session, handlers: Sequence[Handler], *, planner: Planner, on_lease: LeaseHook
    ) -> None:
        self._engine = backend.engine
        self._environment = backend.engine.environment
        self.has_gates = any(handler.gate is not None for handler in handlers)
        """Whether a handler works one gate only."""
        self._unknown_gates: set[tuple[str, int | str]] = set()
        self._handlers = handlers
        self._planner = planner
        self._settings = SettingsCache(backend.engine, self._environment)
        self._poller = backend.poller(session, fits=lambda name: self._handler_of(name) is not None, hook=on_lease)
        self.leases = self._poller.leases
        self.turns: dict[str, Handler] = {}
        """Lists that may have work, in the order of their turns, with the handlers for them."""
        self.awaited: dict[str, int] = {}
        """Lists that can go on when fewer of their items than this are unsettled here."""
        self.has_more = False
        """Whether the last poll has left lists out that may have work."""
        self._pause = MIN_POLL_SECONDS
        self._poll_at = 0.0
        self._poll_anyway_at = 0.0

    def next(self, load: Load) -> PlannedClaim | None:
        """Plan a claim from the first list in turn that has room, and move the list to the end.

        A list without room keeps its place: else the same list might be passed over for ever.
        """
        if self._environment.monotonic() >= (self._poll_anyway_at if self.turns else self._poll_at):
            self._poll()
        for name, handler in self.turns.items():
            room = self._planner.room(name, handler, load=load, held=name in self.leases.names)
            if room <= 0:
                continue
            plan = self._planner.plan(name, handler, settings=self._settings[name], load=load, room=room)
            if plan is not None:
                self.pass_turn(name)
                return plan
        return None

    def others(self, first: PlannedClaim, load: Load) -> list[PlannedClaim]:
        """Plan claims from the lists that come next, to be searched in the same transaction; most lists are short."""
        turns = {first.list: first.handler, **dict(islice(self.turns.items(), MAX_LISTS_PER_SEARCH - 1))}
        self._settings.load(list(turns))
        simple = [name for name, handler in turns.items() if self._is_simple(name, handler)]
        if first.list not in simple:
            return []
        terms: dict[str, Any] = {"load": load, "room": first.limit}
        plans = [self._planner.plan(name, turns[name], settings=self._settings[name], **terms) for name in simple[1:]]
        return [plan for plan in plans if plan is not None]

    def _is_simple(self, name: str, handler: Handler) -> bool:
        # The rest need a claim of their own: one batch for each slot, one claim at a time, or a limit to look after.
        settings = self._settings[name]
        plain = handler.kind is not HandlerKind.BATCH and not settings.exclusive and settings.limits is None
        return plain and name not in self.leases.names

    def pass_turn(self, name: str) -> None:
        """Move a list to the end."""
        if name in self.turns:
            self.turns[name] = self.turns.pop(name)

    def drop(self, name: str, *, awaited: int = 0) -> None:
        """Take a list out of turn in which nothing was ready, until it wakes again.

        Where a later gate or a limit waits for items that are unsettled here, until there are fewer than `awaited`.
        """
        self.turns.pop(name, None)
        self.leases.doubt(name)
        if awaited:
            self.awaited[name] = awaited

    def resume_awaited(self, claims: Iterable[InFlightClaim]) -> None:
        """Put lists back in turn that waited for fewer items to be unsettled here."""
        unsettled = Load.of(claims).unsettled
        for name in [name for name, fewer in self.awaited.items() if unsettled.get(name, 0) < fewer]:
            del self.awaited[name]
            self.offer([name])

    def offer(self, names: Iterable[str]) -> None:
        """Put lists in turn that may have work, as far as a handler here works them."""
        for name in names:
            if name not in self.turns and (handler := self._handler_of(name)) is not None:
                self.turns[name] = handler

    def follow(self, hint: Hint) -> None:
        """Poll at the next opportunity, because somebody may have added work; but first claim of the lists it names."""
        self._pause, self._poll_at = MIN_POLL_SECONDS, 0.0
        if not self.turns:
            # Only then: hints that come one after the other must not put off the poll.
            self._poll_anyway_at = self._environment.monotonic() + MIN_POLL_SECONDS
        self.offer(self._poller.known(hint))

    def poll_later(self) -> None:
        """Poll after a short pause: a list that is awake has nothing to claim just now."""
        self._poll_at = self._environment.monotonic() + MIN_POLL_SECONDS

    def seconds_to_poll(self) -> float:
        """Return the seconds until the next poll is due."""
        return max(0.0, self._poll_at - self._environment.monotonic())

    def _poll(self) -> None:
        result = self._poller.poll()
        self.has_more = result.more
        self._poll_anyway_at = self._environment.monotonic() + self._poller.busy_pause
        self._settings.put(result.settings)
        self._settings.load(result.names)  # of a whole page at once: a list must not cost a query
        self.offer((*result.names, *result.held))
        if self.turns or result.more:
            self._pause = MIN_POLL_SECONDS
            return
        wakes = self._poller.next_wake()
        pause = self._pause if wakes is None else min(self._pause, max(wakes, 0.001))
        self._poll_at = self._environment.monotonic() + self._environment.jittered(pause)
        self._pause = min(self._pause * 2, self._poller.max_pause)

    def _handler_of(self, name: str, gate: int | None = None) -> Handler | None:
        """Return the first handler that works the list, at its open gate or at the given one."""
        for handler in self._handlers:
            if handler.is_for(name, lambda: self._settings[name]):
                if handler.gate is None:
                    return handler
                gate = self._open_gate(name) if gate is None else gate
                if self._gate_number(name, handler.gate) == gate:
                    return handler
        return None

    def serves(self, claimed: ClaimedItems, handler: Handler) -> bool:
        """Return whether the handler is the one for what was claimed: a gate may have opened since it was planned."""
        return self._handler_of(claimed.list, claimed.gate) is handler

    def _open_gate(self, name: str) -> int:
        try:
            return self._engine.read(lists.show, name).gate
        except NotFound:
            return 0

    def _gate_number(self, name: str, gate: int | str) -> int | None:
        if isinstance(gate, int):
            return gate
        names = self._settings[name].gates
        if gate in names:
            return names.index(gate)
        if (name, gate) not in self._unknown_gates:
            self._unknown_gates.add((name, gate))
            known = f"its gates are {', '.join(names)}" if names else "name them with the setting gates"
            log.warning("the list %r has no gate %r; %s", name, gate, known, extra={"list": name, "gate": gate})
        return None
