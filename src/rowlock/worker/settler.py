"""Settling: outcomes are written once; one that cannot be written as it is becomes a failure."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rowlock import settlements
from rowlock.attempts import resolve
from rowlock.db import BoundVerb, Transaction
from rowlock.db.connections import RetryTransaction
from rowlock.engine import Session
from rowlock.engine import Transaction as OpenTransaction
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid, InvalidOutcome, NotFound, OutcomeUnknown, Refused, RowlockError, Stale
from rowlock.model import Item
from rowlock.outcomes import Fail, Outcome, Verdict, error_text, from_exception
from rowlock.receipts import OutcomesByPosition
from rowlock.worker.in_flight import InFlightClaim

log = logging.getLogger("rowlock.worker")

UNWRITABLE = (Invalid, NotFound, Refused)
"""Errors of a settlement which say that an outcome cannot be written."""

AfterItem = Callable[[Item, Outcome, Verdict], None] | None
"""Called for each settled item."""


class Settler:
    """Writes the outcomes of claims under one session."""

    def __init__(self, engine: Handles, session: Session, *, after: AfterItem) -> None:
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

    def write(self, claim: InFlightClaim, *, close: bool) -> None:
        """Write what is finished of a claim; with `close` the claim ends and the rest of it is free."""
        pending = list(claim.unwritten)
        settling = self._resolved(claim, pending)
        try:
            verdicts = self._unless_stale(claim, lambda: self._settle(claim, settling, close=close))
        except UNWRITABLE:
            verdicts = [
                self._write_one(claim, item, said) for (item, _), (_, said) in zip(pending, settling, strict=True)
            ]
            if close:
                self._settle(claim, [], close=True)
        claim.settled += len(pending)
        claim.ended = claim.ended or close
        self.report(pending, verdicts)

    def _write_one(self, claim: InFlightClaim, item: Item, said: Outcome) -> Verdict:
        try:
            return self._one(claim, item, said)
        except UNWRITABLE as error:
            # The handler returned what cannot be written: the item fails, and the failure says why.
            return self._one(claim, item, Fail(str(error), kind=error.code))

    def _one(self, claim: InFlightClaim, item: Item, said: Outcome) -> Verdict:
        [verdict] = self._settle(claim, [(item.position, said)], close=False)
        return verdict

    def _settle(self, claim: InFlightClaim, settling: OutcomesByPosition, *, close: bool) -> list[Verdict]:
        options: dict[str, Any] = {"holder": self._session.holder, "close": close}
        if claim.handler.within is None:
            verdicts: list[Verdict] = self._run(settlements.settle, claim, settling, **options)
        else:
            verdicts = self._run(settle_within, claim, settling, of=claim, **options)
        return verdicts

    def _run(self, verb: Any, claim: InFlightClaim, settling: Any, **options: Any) -> Any:
        call: Callable[[], Any] = partial(self._engine.run, verb, self._session.id, claim.token, settling, **options)
        try:
            return call()
        except OutcomeUnknown:
            return call()  # if it landed, it is answered as before

    def _unless_stale(self, claim: InFlightClaim, work: Callable[[], list[Verdict]]) -> list[Verdict] | None:
        try:
            return work()
        except Stale as error:
            claim.ended = True
            log.warning("claim lost", extra={"list": claim.list, "token": claim.token, "code": error.code})
            return None

    def _resolved(self, claim: InFlightClaim, pending: Sequence[tuple[Item, Outcome]]) -> list[tuple[int, Outcome]]:
        random = self._engine.environment.random
        return [(item.position, _resolve(outcome, item, claim, random)) for item, outcome in pending]

    def report(self, pending: Sequence[tuple[Item, Outcome]], verdicts: Sequence[Verdict] | None) -> None:
        """Call the hook for each outcome, with its verdict."""
        if self._after is None:
            return
        for (item, outcome), verdict in zip(pending, verdicts or (), strict=False):
            self._after(item, outcome, verdict)


def settle_within(
    tx: Transaction, session: str, token: str, settling: OutcomesByPosition, *, of: InFlightClaim, **options: Any
) -> list[Verdict]:
    """Settle, and call the handler's `within` for items that are done: both commit, or neither."""
    verdicts = settlements.settle(tx, session, token, settling, **options)
    items = {item.position: item for item in of.items}
    done = [items[position] for (position, _), verdict in zip(settling, verdicts, strict=True) if verdict == "done"]
    if done and of.handler.within is not None:
        try:
            of.handler.within(done, OpenTransaction(lambda: tx))
        except (RowlockError, RetryTransaction):
            raise
        except Exception as error:
            raise InvalidOutcome(f"the handler's `within` raised: {error_text(error)}") from None
    return verdicts


def _resolve(outcome: Outcome, item: Item, claim: InFlightClaim, random: Callable[[], float]) -> Outcome:
    try:
        return resolve(outcome, item.attempts, claim.rules, random)
    except RowlockError as error:
        return Fail(str(from_exception(error).error), kind=error.code)
