"""Settling: outcomes are written, once, whatever it takes; what cannot be written as it is becomes a failure."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rowlock import settlements
from rowlock.attempts import resolve
from rowlock.db import Transaction
from rowlock.db.connections import RetryTransaction
from rowlock.engine import Session
from rowlock.engine import Transaction as OpenTransaction
from rowlock.errors import Invalid, InvalidOutcome, NotFound, OutcomeUnknown, Refused, RowlockError, Stale
from rowlock.model import Item
from rowlock.outcomes import Fail, Outcome, Verdict, error_text, from_exception
from rowlock.receipts import OutcomesByPosition
from rowlock.worker.backend import Source
from rowlock.worker.in_flight import InFlightClaim

log = logging.getLogger("rowlock.worker")

UNWRITABLE = (Invalid, NotFound, Refused)
"""What a settlement says of an outcome that cannot be written."""

Told = Callable[[Item, Outcome, Verdict], None] | None
"""Who wants to hear of each settled item, if anybody."""


class Settler:
    """Writes the outcomes of hands under one session."""

    def __init__(self, source: Source, session: Session, *, told: Told) -> None:
        self._source = source
        self._session = session
        self._told = told

    def quick(self, claim: InFlightClaim) -> settlements.AllDone:
        """A piece of a trip that settles a hand whose items are all done."""
        positions = [item.position for item, _ in claim.finished]
        limited = claim.taken.list if claim.eager else None
        return settlements.AllDone(self._session.id, claim.taken.token, positions, limited)

    def after_quick(self, claim: InFlightClaim, verdicts: list[Verdict] | None) -> None:
        """Take note of what a trip brought home; a claim that was no more is asked about once again."""
        if verdicts is None:
            positions = [item.position for item, _ in claim.finished]
            verdicts = self._asked(claim, lambda: self._run(settlements.settle_done, claim, positions))
        self.note(claim.finished, verdicts)
        claim.over = True

    def write(self, claim: InFlightClaim, *, close: bool) -> None:
        """Write what is finished of a hand; with `close` the claim ends and the rest of it is free."""
        pending = list(claim.unsettled)
        settling = self._resolved(claim, pending)
        try:
            verdicts = self._asked(claim, lambda: self._settle(claim, settling, close=close))
        except UNWRITABLE:
            verdicts = [
                self._write_one(claim, item, said) for (item, _), (_, said) in zip(pending, settling, strict=True)
            ]
            if close:
                self._settle(claim, [], close=True)
        claim.settled += len(pending)
        claim.over = claim.over or close
        self.note(pending, verdicts)

    def _write_one(self, claim: InFlightClaim, item: Item, said: Outcome) -> Verdict:
        try:
            return self._one(claim, item, said)
        except UNWRITABLE as error:
            # The handler answered with what cannot be written: the item failed, and says why.
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
        ask: Callable[[], Any] = partial(
            self._source.run, verb, self._session.id, claim.taken.token, settling, **options
        )
        try:
            return ask()
        except OutcomeUnknown:
            return ask()  # the same again is answered as before, if it landed

    def _asked(self, claim: InFlightClaim, work: Callable[[], list[Verdict]]) -> list[Verdict] | None:
        try:
            return work()
        except Stale as error:
            claim.over = True
            log.warning("claim lost", extra={"list": claim.taken.list, "token": claim.taken.token, "code": error.code})
            return None

    def _resolved(self, claim: InFlightClaim, pending: Sequence[tuple[Item, Outcome]]) -> list[tuple[int, Outcome]]:
        random = self._source.environment.random
        return [(item.position, _resolve(outcome, item, claim, random)) for item, outcome in pending]

    def note(self, pending: Sequence[tuple[Item, Outcome]], verdicts: Sequence[Verdict] | None) -> None:
        """Tell of each outcome what became of it."""
        if self._told is None:
            return
        for (item, outcome), verdict in zip(pending, verdicts or (), strict=False):
            self._told(item, outcome, verdict)


def settle_within(
    tx: Transaction, session: str, token: str, settling: OutcomesByPosition, *, of: InFlightClaim, **options: Any
) -> list[Verdict]:
    """Settle, and have written what goes with items that are done: both commit, or neither."""
    verdicts = settlements.settle(tx, session, token, settling, **options)
    items = {item.position: item for item in of.taken.items}
    done = [items[position] for (position, _), verdict in zip(settling, verdicts, strict=True) if verdict == "done"]
    if done and of.handler.within is not None:
        try:
            of.handler.within(done, OpenTransaction(lambda: tx))
        except (RowlockError, RetryTransaction):
            raise
        except Exception as error:
            raise InvalidOutcome(f"what goes with it cannot be written: {error_text(error)}") from None
    return verdicts


def _resolve(outcome: Outcome, item: Item, claim: InFlightClaim, random: Callable[[], float]) -> Outcome:
    try:
        return resolve(outcome, item.attempts, claim.rules, random)
    except RowlockError as error:
        return Fail(str(from_exception(error).error), kind=error.code)
