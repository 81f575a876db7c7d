"""Claims as users work with them: items to be done, each with one outcome, written together."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rowlock import claims, receipts, settlements
from rowlock.db import BoundVerb
from rowlock.durations import Duration
from rowlock.errors import Invalid, InvalidTransaction, ItemsGone, StaleClaim
from rowlock.model import Item
from rowlock.outcomes import (
    UNCHANGED,
    Done,
    Fail,
    Move,
    Outcome,
    Retry,
    Verdict,
    all_plainly_done,
    from_exception,
    from_return_value,
)
from rowlock.retry_policy import Policy, resolve

if TYPE_CHECKING:
    from rowlock.engine.session import Session
    from rowlock.engine.transaction import Transaction

Outcomes = dict[int, Outcome]
"""Outcomes by the positions of their items."""
Written = dict[int, tuple[Outcome, Verdict]]
"""Outcomes that were written, with their verdicts, by the positions of their items."""


class JoinedSettlement(NamedTuple):
    """A settlement in a transaction of the caller's."""

    outcomes: Outcomes
    """What it writes if the transaction commits; empty if it was refused."""
    tx: "Transaction"
    """The last transaction that it was given to."""
    written_in: "Transaction | None" = None
    """The last one that it was written in; it may have been rolled back since."""


class Claim:
    """An interval of a list, held by a session: iterate over its items and say the outcome of each.

    `settle`, or the end of a with block, writes the outcomes in one transaction; items without one are given back. What
    `settle(using=…)` has given to a transaction of yours, the end of the block leaves to that transaction.
    """

    def __init__(self, session: "Session", taken: claims.ClaimedItems, *, rules: Policy, plain: bool) -> None:
        self._session = session
        self._engine = session._engine
        self._rules = rules
        self._plain = plain
        """Whether nothing is kept of an item that is done."""
        self._keys = {item.position: item.key for item in taken.items}
        self._said: Outcomes = {}
        self._fresh: set[int] = set()
        """Positions whose outcomes were said since the last settlement."""
        self._committed: Written = {}
        """What is known to be committed."""
        self._closed = False
        """Whether the claim is known to have ended."""
        self._joined: dict[str, JoinedSettlement] = {}
        """Settlements in transactions of the caller's that have not been seen committed, by their digests."""
        self._ever_joined: set[int] = set()
        """Positions whose outcomes were to be written in a transaction of the caller's."""
        self._gone: JoinedSettlement | None = None
        """The outcomes of items that ItemsGone has named, and the transaction that it refused."""
        self.taken = taken

    @property
    def token(self) -> str:
        """The claim's fencing token, which is never used again."""
        return self.taken.token

    @property
    def items(self) -> list[Item]:
        """The claimed items, in order."""
        return list(self.taken.items)

    @property
    def settled(self) -> bool:
        """Whether the claim was settled and has ended; the commit of a transaction of yours is not seen here."""
        return self._closed

    def __iter__(self) -> Iterator[Item]:
        return iter(self.taken.items)

    def __len__(self) -> int:
        return len(self.taken.items)

    def __enter__(self) -> "Claim":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def done(self, item: Item, result: Any = None) -> None:
        """Say that an item is done."""
        self.say(item, Done(result))

    def retry(self, item: Item, why: str | BaseException = "", *, after: Duration | None = None) -> None:
        """Say that an item failed and shall be tried again, after the list's backoff or the given time."""
        failed = from_exception(why) if isinstance(why, BaseException) else Retry(why)
        self.say(item, Retry(failed.error, after, kind=failed.kind, traceback=failed.traceback))

    def fail(self, item: Item, why: str | BaseException = "") -> None:
        """Say that an item failed for good, whatever attempts are left."""
        failed = from_exception(why) if isinstance(why, BaseException) else Retry(why, kind="fail")
        self.say(item, Fail(failed.error, failed.kind, failed.traceback))

    def move(
        self, item: Item, gate: int | str | None = None, *, data: Any = UNCHANGED, until: str | None = None
    ) -> None:
        """Say that an item moves to another gate, with new data if given; not before the list `until` is complete."""
        self.say(item, Move(gate, data, until=until))

    def say(self, item: Item, outcome: Outcome) -> None:
        """Say an item's outcome, which `settle` writes; the last one counts."""
        if not isinstance(item, Item):
            raise Invalid(f"item must be an item of the claim, got {item!r}", "loop over the claim to get its items")
        if item.position not in self._keys:
            raise Invalid(f"item {item.key!r} does not belong to this claim", "settle it under its own claim")
        if self._gone is not None:
            self._drop_gone(self._gone)
        random = self._engine.environment.random
        self._said[item.position] = resolve(from_return_value(outcome), item.attempts, self._rules, random)
        self._fresh.add(item.position)

    def settle(self, *, using: Any = None, close: bool = True, partial: bool = False) -> dict[str, Verdict]:
        """Write the outcomes that are not written yet, end the claim, and return all verdicts by key.

        They are written in one transaction, or in yours if `using` gives one: then they count when that commits, after
        a rollback the same call settles again, and the verdicts are those on what this call writes. StaleClaim if the
        claim has ended, and in your transaction also if another one has settled it. ItemsGone, in your transaction only
        and unless `partial` asks for verdicts, if items were taken off the list meanwhile. Whatever is raised, nothing
        was written. Without `close` items without an outcome stay claimed.
        """
        close = close or len(self._said) == len(self._keys)
        if using is not None:
            self._ever_joined.update(self._unwritten())
            tx = cast("Transaction", self._engine.join(using))
            return self._verdicts(self._settle_in(tx, close=close, partial=partial))
        self._find_committed()
        unwritten = self._unwritten()
        self._refuse_rolled_back(each for each in unwritten if each in self._ever_joined)
        if unwritten:
            self._write(unwritten, close=close)
        elif close:
            self._close()
        return self._verdicts(self._committed)

    def _end(self) -> None:
        """End with its block, or later if a transaction of the caller's that settles it is still open.

        Outcomes in such a transaction are left to it: written outside, they would commit without the caller's rows.
        """
        if not self._joined and not self._ever_joined:
            self.settle()
            return
        rest = {each: outcome for each, outcome in self._unwritten().items() if each not in self._ever_joined}
        if self._joined and not rest and not self._engine.read(claims.is_held, self._session.id, self.token):
            self._closed = True
            return
        self._find_committed()  # what has committed is over, whatever its connection is used for now
        if any(joined.tx._is_open for joined in self._joined.values()):
            if rest:
                what = f"the block of the claim {self.token} ends while a transaction is open that settles others of it"
                raise InvalidTransaction(what, "commit it before the block ends, or settle all with using=")
            self._session._unended[self.token] = self
        elif rest:
            self._write(rest, close=True)
        else:
            self._close()

    def _write(self, outcomes: Outcomes, *, close: bool) -> None:
        """Settle in a transaction of its own, whose commit is seen here."""
        who, settling = (self._session.id, self.token), list(outcomes.items())
        verdicts = self._engine.run(settlements.settle, *who, settling, holder=self._session.holder, close=close)
        self._committed |= _paired(outcomes, verdicts)
        self._fresh.clear()
        self._closed = self._closed or close

    def _close(self) -> None:
        if not self._closed:
            self._engine.run(claims.close, self._session.id, self.token)
            self._closed = True

    def _settle_in(self, tx: "Transaction", *, close: bool, partial: bool) -> Written:
        """Settle in a transaction of the caller's, and return what this call writes if it commits.

        Verdicts of earlier settlements are left out: a caller who writes a row for each would write them again.
        """
        here = self._find_committed(tx)
        unwritten = _without(here, self._unwritten())
        closes_a_part = close and not unwritten and not self._fresh
        if not closes_a_part:
            self._refuse_committed(unwritten, here)
        if not self._fresh.isdisjoint(unwritten):
            self._refuse_rolled_back(unwritten)
        settling = list(unwritten.items())
        digest = receipts.digest(settling)
        before = self._joined.get(digest, JoinedSettlement({}, tx))
        self._joined[digest] = before._replace(tx=tx)
        if not unwritten:
            self._close_in(tx, close=close, written_here=bool(here))
            return {}
        options: dict[str, Any] = {"holder": self._session.holder, "close": close, "partial": partial}
        who = self._session.id, self.token
        try:
            verdicts = tx.run(settlements.settle_beside, *who, settling, keys=self._keys, **options)
        except ItemsGone as error:
            gone = {each: outcome for each, outcome in settling if self._keys[each] in error.fields["keys"]}
            self._gone = JoinedSettlement(gone, tx)
            raise
        self._joined[digest] = JoinedSettlement(unwritten, tx, written_in=tx)
        self._fresh.clear()
        return _paired(unwritten, verdicts)

    def _close_in(self, tx: "Transaction", *, close: bool, written_here: bool) -> None:
        # Nothing is left to write. If the claim has ended elsewhere, the caller's rows must not commit.
        if close:
            is_held = tx.run(claims.close, self._session.id, self.token)
        else:
            is_held = tx.run(settlements.hold, self._session.id, self.token) is not None
        if not is_held and not written_here:
            raise StaleClaim.of(self.token)

    def _refuse_committed(self, unwritten: Outcomes, here: Written) -> None:
        """Refuse what another transaction has settled: else the caller's rows would commit a second time."""
        repeated = any(each in self._committed for each in self._fresh)
        if repeated or (self._said and not unwritten and not here):
            self._fresh.difference_update(self._committed)
            raise StaleClaim.of(self.token)

    def _refuse_rolled_back(self, positions: Iterable[int]) -> None:
        """Refuse to write, beside new outcomes, those that a transaction of the caller's has rolled back."""
        old = sorted(self._keys[each] for each in positions if each not in self._fresh)
        if old:
            what = f"a transaction that did not commit was given these items: {', '.join(map(repr, old[:5]))}"
            hint = "say again what becomes of them: claim.done(item), claim.retry(item, error) …"
            raise InvalidTransaction(what, hint)

    def _drop_gone(self, gone: JoinedSettlement) -> None:
        """Drop the outcomes of items that are gone, now that outcomes are said again.

        Not before the refused transaction has ended: it may hold the caller's rows for them, and must not commit.
        """
        if not gone.tx._is_open:
            for position in gone.outcomes:
                self._said.pop(position, None)
                self._fresh.discard(position)
            self._gone = None

    def _find_committed(self, tx: "Transaction | None" = None) -> Written:
        """Find which settlements of the caller's transactions are committed; return what this open one has written."""
        uncertain = {digest: joined for digest, joined in self._joined.items() if joined.outcomes}
        if not uncertain:
            return {}
        settlings = [list(joined.outcomes.items()) for joined in uncertain.values()]
        # First inside, then outside: what commits in between is then seen as committed.
        inside = tx.read(receipts.answers, self.token, settlings) if tx else [None] * len(settlings)
        if tx is not None and tx._begun_here:
            # Not by a second connection: all of the pool may be held by callers that would wait for one.
            outside = [
                None if tx._is_same(each.written_in) else seen
                for each, seen in zip(uncertain.values(), inside, strict=True)
            ]
        else:
            outside = self._engine.read(receipts.answers, self.token, settlings)
        here: Written = {}
        for (digest, joined), verdicts, verdicts_here in zip(uncertain.items(), outside, inside, strict=True):
            if verdicts is not None:
                self._committed |= _paired(joined.outcomes, verdicts)
                del self._joined[digest]
            elif verdicts_here is not None:
                here |= _paired(joined.outcomes, verdicts_here)
        return here

    def _unwritten(self) -> Outcomes:
        """Return the outcomes that are not known to be committed."""
        return _without(self._committed, self._said)

    def _verdicts(self, written: Written) -> dict[str, Verdict]:
        return {self._keys[position]: written[position][1] for position in self._said if position in written}

    def _is_plainly_done(self) -> bool:
        """Return whether all items are done and nothing is kept of them: then a pipeline can settle it."""
        untouched = not (self._closed or self._committed or self._joined or self._ever_joined)
        return (
            self._plain and untouched and len(self._said) == len(self._keys) and all_plainly_done(self._said.values())
        )

    def _settle_done(self) -> BoundVerb:
        """Return the settlement as a piece of a pipeline."""
        positions = list(self._said)
        return settlements.try_settle_done.bind(self._session.id, self.token, positions, use_planner_hints=True)

    def _note_all_done(self, verdicts: list[Verdict]) -> None:
        """Note that a pipeline has settled it."""
        self._committed |= _paired(self._said, verdicts)
        self._closed = True


def _paired(outcomes: Outcomes, verdicts: list[Verdict]) -> Written:
    return dict(zip(outcomes, zip(outcomes.values(), verdicts, strict=True), strict=True))


def _without(written: Written, outcomes: Outcomes) -> Outcomes:
    """Return the outcomes that were not written, or otherwise."""
    return {
        position: outcome
        for position, outcome in outcomes.items()
        if position not in written or not _is_same(written[position][0], outcome)
    }


def _is_same(one: Outcome, other: Outcome) -> bool:
    return one is other or receipts.digest([(0, one)]) == receipts.digest([(0, other)])
