"""Claims in flight and their settlement: each outcome is written once, and one that cannot be written is a failure."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from rowlock import settlements, tracing
from rowlock.claims import ClaimedItems
from rowlock.db import BoundVerb, Tx
from rowlock.db.driver import RetryTransaction
from rowlock.engine import Session, Transaction
from rowlock.engine.claimer import ClaimTerms
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid, InvalidOutcome, NotFound, OutcomeUnknown, Refused, RowlockError, Stale
from rowlock.model import Item
from rowlock.outcomes import Done, Fail, Outcome, Retry, Verdict, error_text, from_exception
from rowlock.receipts import OutcomesByPosition
from rowlock.retry_policy import Policy, resolve
from rowlock.worker.error_reports import report
from rowlock.worker.handlers import Handler
from rowlock.worker.hooks import NO_HOOKS, AfterItem, ItemHooks

log = logging.getLogger("rowlock.worker")

UNWRITABLE = (Invalid, NotFound, Refused)
"""Errors of a settlement which say that an outcome cannot be written."""


class PlannedClaim(msgspec.Struct, frozen=True):
    """What to claim next, for which handler, and by which rules."""

    list: str
    handler: Handler
    rules: Policy
    limit: int
    settles_whole: bool
    """Whether a claim that is all done is settled by one statement: nothing is kept of its items."""
    limited: bool
    """Whether the list has limits: others may wait for what is settled."""
    gates: tuple[str, ...] = ()
    """The names of the list's gates."""

    @property
    def terms(self) -> ClaimTerms:
        """What the claim asks for beside the list's name."""
        return {"limit": self.limit, "attempts": self.rules.attempts}


class InFlightClaim:
    """Items that were claimed together. Handlers finish them from any thread; the worker's thread settles them."""

    def __init__(
        self, claimed: ClaimedItems, plan: PlannedClaim, *, hooks: ItemHooks = NO_HOOKS, in_order: bool = False
    ) -> None:
        self.list = claimed.list
        self.token = claimed.token
        self.items = claimed.items
        self.must_run_alone = claimed.alone
        self.took_all = len(claimed.items) < plan.limit
        """Whether it took all items of its list that were free."""
        self.handler = plan.handler
        self.rules = plan.rules
        self.settles_whole = plan.settles_whole
        self.settles_each = plan.limited
        """Whether each outcome is written as soon as it is there: others may wait for room in the list's limits."""
        self.in_order = in_order
        """Whether its items run one after the other."""
        self._unstarted = deque(claimed.items if in_order else ())
        self.halted = False
        """Whether an item that is worked in order shall be tried again at once: those after it must wait."""
        self.before = hooks.before
        self._hooks = hooks
        self.spans = tracing.spans()
        """Makes a span around each call of the handler, if tracing is on."""
        self.cancelled = threading.Event()
        """Set when nothing of it can be settled any more."""
        self.finished: list[tuple[Item, Outcome]] = []
        self._only_done = True
        """Whether every outcome so far is Done."""
        self.settled = 0
        self.returned = 0
        """Items that were given back before a handler began with them."""
        self.ended = False

    @property
    def unfinished(self) -> int:
        """Items that no handler has finished."""
        return len(self.items) - len(self.finished) - self.returned

    @property
    def unsettled(self) -> int:
        """Items whose outcomes are not written."""
        return len(self.items) - self.settled

    @property
    def unwritten(self) -> Sequence[tuple[Item, Outcome]]:
        """Items with outcomes that are not written."""
        return self.finished[self.settled :]

    @property
    def all_done(self) -> bool:
        """Whether all of it is done and nothing of it settled yet, so that one statement can settle it."""
        whole = self.settled == 0 and len(self.finished) == len(self.items)
        return whole and self._only_done and self.settles_whole

    def next_item(self) -> Item | None:
        """Return the next item of a claim that is worked in order, if one may begin; safe from any thread."""
        try:
            return None if self.halted else self._unstarted.popleft()
        except IndexError:
            return None

    def return_unstarted(self) -> None:
        """Give back the items of a claim that is worked in order which wait; in the worker's thread."""
        while True:
            try:
                self._unstarted.popleft()
            except IndexError:
                return
            self.returned += 1

    def finish(self, item: Item, outcome: Outcome) -> bool:
        """Note an outcome, and return whether it is to be written at once. One list append: safe from any thread."""
        if type(outcome) is not Done:
            self._only_done = False
            if self.in_order and isinstance(outcome, Retry) and outcome.after == 0:
                self.halted = True
        self.finished.append((item, outcome))
        return self.halted or self.settles_each or len(self.finished) + self.returned >= len(self.items)

    def failed(self, error: BaseException, item: Item | None = None, *, outcome: Retry | Fail | None = None) -> Outcome:
        """Report what a handler raised for an item, or for all, and return the outcome; safe from any thread."""
        items = self.items if item is None else [item]
        return report(error, items, allowed=self.rules.attempts, hook=self._hooks.on_error, outcome=outcome)

    def timed_out(self, item: Item | None = None) -> Outcome:
        """Report that the handler took longer than its timeout, and return the outcome; safe from any thread."""
        what = f"timed out after {self.handler.timeout:g}s"
        return self.failed(TimeoutError(what), item, outcome=Retry(what, kind="timeout"))

    def finish_all(self, outcomes: Sequence[Outcome]) -> None:
        """Note the outcomes of all items at once; safe from any thread."""
        self._only_done = all(type(outcome) is Done for outcome in outcomes)
        self.finished = list(zip(self.items, outcomes, strict=True))


class Settler:
    """Writes the outcomes of claims under one session."""

    def __init__(self, engine: Handles, session: Session, *, after: AfterItem | None) -> None:
        self._engine = engine
        self._session = session
        self._after = after

    def settle_done(self, claim: InFlightClaim) -> BoundVerb:
        """Return the settlement of a claim that is all done, as a piece of a pipeline."""
        positions = [item.position for item, _ in claim.finished]
        limited = claim.list if claim.settles_each else None
        settle = settlements.try_settle_done
        return settle.bind(self._session.id, claim.token, positions, limited=limited, use_planner_hints=True)

    def finish_done(self, claim: InFlightClaim, verdicts: list[Verdict] | None) -> None:
        """Report what a pipeline has settled; a claim that it found gone is settled once more, alone."""
        if verdicts is None:
            positions = [item.position for item, _ in claim.finished]
            verdicts = self._unless_stale(claim, lambda: self._run(settlements.settle_done, claim, positions))
        self.report(claim.finished, verdicts)
        claim.ended = True

    def settle(self, claim: InFlightClaim, *, close: bool) -> None:
        """Write what is finished of a claim; with `close` the claim ends and the rest of it is free."""
        pending = list(claim.unwritten)
        outcomes = [(item.position, self._resolved(outcome, item, claim)) for item, outcome in pending]
        try:
            verdicts = self._unless_stale(claim, lambda: self._write(claim, outcomes, close=close))
        except UNWRITABLE:
            verdicts = [self._write_one(claim, position, outcome) for position, outcome in outcomes]
            if close:
                self._write(claim, [], close=True)
        claim.settled += len(pending)
        claim.ended = claim.ended or close
        self.report(pending, verdicts)

    def report(self, settled: Sequence[tuple[Item, Outcome]], verdicts: Sequence[Verdict] | None) -> None:
        """Call the hook for each outcome, with its verdict."""
        if self._after is not None:
            for (item, outcome), verdict in zip(settled, verdicts or (), strict=False):
                self._after(item, outcome, verdict)

    def _resolved(self, outcome: Outcome, item: Item, claim: InFlightClaim) -> Outcome:
        try:
            return resolve(outcome, item.attempts, claim.rules, self._engine.environment.random)
        except RowlockError as error:
            return Fail(str(from_exception(error).error), kind=error.code)

    def _write_one(self, claim: InFlightClaim, position: int, outcome: Outcome) -> Verdict:
        try:
            [verdict] = self._write(claim, [(position, outcome)], close=False)
        except UNWRITABLE as error:
            # The handler returned what cannot be written: the item fails, and the failure says why.
            [verdict] = self._write(claim, [(position, Fail(str(error), kind=error.code))], close=False)
        return verdict

    def _write(self, claim: InFlightClaim, outcomes: OutcomesByPosition, *, close: bool) -> list[Verdict]:
        options: dict[str, Any] = {"holder": self._session.holder, "close": close}
        if claim.handler.within is None:
            verdicts: list[Verdict] = self._run(settlements.settle, claim, outcomes, **options)
        else:
            verdicts = self._run(settle_within, claim, outcomes, claim=claim, **options)
        return verdicts

    def _run(self, verb: Any, claim: InFlightClaim, settling: Any, /, **options: Any) -> Any:
        call: Callable[[], Any] = partial(self._engine.run, verb, self._session.id, claim.token, settling, **options)
        try:
            return call()
        except OutcomeUnknown:
            return call()  # if it landed, it is answered as before

    def _unless_stale(self, claim: InFlightClaim, settle: Callable[[], list[Verdict]]) -> list[Verdict] | None:
        try:
            return settle()
        except Stale as error:
            claim.ended = True
            log.warning("claim lost", extra={"list": claim.list, "token": claim.token, "code": error.code})
            return None


def settle_within(
    tx: Tx, session: str, token: str, outcomes: OutcomesByPosition, *, claim: InFlightClaim, **options: Any
) -> list[Verdict]:
    """Settle, and call the handler's `within` for items that are done: both commit, or neither."""
    verdicts = settlements.settle(tx, session, token, outcomes, **options)
    items = {item.position: item for item in claim.items}
    done = [items[position] for (position, _), verdict in zip(outcomes, verdicts, strict=True) if verdict == "done"]
    if done and claim.handler.within is not None:
        try:
            claim.handler.within(done, Transaction(lambda: tx))
        except (RowlockError, RetryTransaction):
            raise
        except Exception as error:
            raise InvalidOutcome(f"the handler's `within` raised: {error_text(error)}") from None
    return verdicts
