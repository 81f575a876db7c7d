"""Settling: outcomes are written, once, whatever it takes; what cannot be written as it is becomes a failure."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rowlock import settlements
from rowlock.attempts import resolve
from rowlock.db import Transaction
from rowlock.db.connections import RunAgain
from rowlock.engine import Session
from rowlock.engine import Transaction as OpenTransaction
from rowlock.errors import Invalid, InvalidOutcome, NotFound, OutcomeUnknown, Refused, RowlockError, Stale
from rowlock.model import Item
from rowlock.outcomes import Fail, Outcome, Verdict, error_text, from_exception
from rowlock.receipts import Settling as Settled
from rowlock.worker.hands import Hand
from rowlock.worker.source import Source

log = logging.getLogger("rowlock.worker")

UNWRITABLE = (Invalid, NotFound, Refused)
"""What a settlement says of an outcome that cannot be written."""

Told = Callable[[Item, Outcome, Verdict], None] | None
"""Who wants to hear of each settled item, if anybody."""


class Settling:
    """Writes the outcomes of hands under one session."""

    def __init__(self, source: Source, session: Session, *, told: Told) -> None:
        self._source = source
        self._session = session
        self._told = told

    def quick(self, hand: Hand) -> settlements.AllDone:
        """A piece of a trip that settles a hand whose items are all done."""
        positions = [item.position for item, _ in hand.finished]
        limited = hand.taken.list if hand.eager else None
        return settlements.AllDone(self._session.id, hand.taken.token, positions, limited)

    def after_quick(self, hand: Hand, verdicts: list[Verdict] | None) -> None:
        """Take note of what a trip brought home; a claim that was no more is asked about once again."""
        if verdicts is None:
            positions = [item.position for item, _ in hand.finished]
            verdicts = self._asked(hand, lambda: self._run(settlements.settle_done, hand, positions))
        self.note(hand.finished, verdicts)
        hand.over = True

    def write(self, hand: Hand, *, close: bool) -> None:
        """Write what is finished of a hand; with `close` the claim ends and the rest of it is free."""
        pending = list(hand.unsettled)
        settling = self._resolved(hand, pending)
        try:
            verdicts = self._asked(hand, lambda: self._settle(hand, settling, close=close))
        except UNWRITABLE:
            verdicts = [
                self._write_one(hand, item, said) for (item, _), (_, said) in zip(pending, settling, strict=True)
            ]
            if close:
                self._settle(hand, [], close=True)
        hand.settled += len(pending)
        hand.over = hand.over or close
        self.note(pending, verdicts)

    def _write_one(self, hand: Hand, item: Item, said: Outcome) -> Verdict:
        try:
            return self._one(hand, item, said)
        except UNWRITABLE as error:
            # The handler answered with what cannot be written: the item failed, and says why.
            return self._one(hand, item, Fail(str(error), kind=error.code))

    def _one(self, hand: Hand, item: Item, said: Outcome) -> Verdict:
        [verdict] = self._settle(hand, [(item.position, said)], close=False)
        return verdict

    def _settle(self, hand: Hand, settling: Settled, *, close: bool) -> list[Verdict]:
        options: dict[str, Any] = {"holder": self._session.holder, "close": close}
        if hand.handler.within is None:
            verdicts: list[Verdict] = self._run(settlements.settle, hand, settling, **options)
        else:
            verdicts = self._run(settle_within, hand, settling, of=hand, **options)
        return verdicts

    def _run(self, verb: Any, hand: Hand, settling: Any, **options: Any) -> Any:
        ask: Callable[[], Any] = partial(
            self._source.run, verb, self._session.id, hand.taken.token, settling, **options
        )
        try:
            return ask()
        except OutcomeUnknown:
            return ask()  # the same again is answered as before, if it landed

    def _asked(self, hand: Hand, work: Callable[[], list[Verdict]]) -> list[Verdict] | None:
        try:
            return work()
        except Stale as error:
            hand.over = True
            log.warning("claim lost", extra={"list": hand.taken.list, "token": hand.taken.token, "code": error.code})
            return None

    def _resolved(self, hand: Hand, pending: Sequence[tuple[Item, Outcome]]) -> list[tuple[int, Outcome]]:
        random = self._source.world.random
        return [(item.position, _resolve(outcome, item, hand, random)) for item, outcome in pending]

    def note(self, pending: Sequence[tuple[Item, Outcome]], verdicts: Sequence[Verdict] | None) -> None:
        """Tell of each outcome what became of it."""
        if self._told is None:
            return
        for (item, outcome), verdict in zip(pending, verdicts or (), strict=False):
            self._told(item, outcome, verdict)


def settle_within(
    tx: Transaction, session: str, token: str, settling: Settled, *, of: Hand, **options: Any
) -> list[Verdict]:
    """Settle, and have written what goes with items that are done: both commit, or neither."""
    verdicts = settlements.settle(tx, session, token, settling, **options)
    items = {item.position: item for item in of.taken.items}
    done = [items[position] for (position, _), verdict in zip(settling, verdicts, strict=True) if verdict == "done"]
    if done and of.handler.within is not None:
        try:
            of.handler.within(done, OpenTransaction(lambda: tx))
        except (RowlockError, RunAgain):
            raise
        except Exception as error:
            raise InvalidOutcome(f"what goes with it cannot be written: {error_text(error)}") from None
    return verdicts


def _resolve(outcome: Outcome, item: Item, hand: Hand, random: Callable[[], float]) -> Outcome:
    try:
        return resolve(outcome, item.attempts, hand.rules, random)
    except RowlockError as error:
        return Fail(str(from_exception(error).error), kind=error.code)
