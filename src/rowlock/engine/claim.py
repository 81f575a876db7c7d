"""Claims as users work with them: items to be done, each with one outcome, written together."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rowlock import claims, receipts, settlements
from rowlock.attempts import Policy, resolve
from rowlock.db import BoundVerb
from rowlock.durations import Duration
from rowlock.engine.runner import Runner
from rowlock.environment import Environment
from rowlock.errors import Invalid, InvalidTransaction, StaleClaim
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

if TYPE_CHECKING:
    from rowlock.engine.transaction import Transaction

Outcomes = dict[int, Outcome]
"""Outcomes by the positions of their items."""
Written = dict[int, tuple[Outcome, Verdict]]
"""Outcomes that were written, with their verdicts, by the positions of their items."""


class JoinedSettlement(NamedTuple):
    """A settlement in a transaction of the caller's."""

    said: Outcomes
    """What it writes if the transaction commits; empty if it was refused."""
    tx: "Transaction"


class Claim:
    """An interval of a list, held by a session: iterate over its items and say the outcome of each.

    `settle`, or the end of a with block, writes the outcomes in one transaction; items without one are given back. What
    `settle(using=…)` has given to a transaction of yours, the end of the block leaves to that transaction.
    """

    def __init__(
        self,
        runner: Runner,
        session: str,
        taken: claims.ClaimedItems,
        *,
        rules: Policy,
        plain: bool,
        holder: str,
        environment: Environment,
        unended: list["Claim"],
    ) -> None:
        self._runner = runner
        self._session = session
        self._rules = rules
        self._plain = plain
        self._holder = holder
        self._environment = environment
        self._unended = unended
        """Claims of the session whose blocks have ended before the caller's transaction that settles them."""
        self._said: Outcomes = {}
        self._handed = {item.position for item in taken.items}
        self._committed: Written = {}
        """What is known to be committed."""
        self._closed = False
        """Whether the claim is known to have ended."""
        self._given: dict[str, JoinedSettlement] = {}
        """Settlements in transactions of the caller's that have not been seen committed, by their digests."""
        self._fresh: set[int] = set()
        """Positions whose outcomes were said since the last settlement."""
        self._left_to_them: set[int] = set()
        """Positions whose outcomes were to be written in a transaction of the caller's."""
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
        self.say(item, Retry(failed.error, after, kind=failed.kind))

    def fail(self, item: Item, why: str | BaseException = "") -> None:
        """Say that an item failed for good, whatever attempts are left."""
        failed = from_exception(why) if isinstance(why, BaseException) else Retry(why, kind="fail")
        self.say(item, Fail(failed.error, failed.kind))

    def move(
        self, item: Item, gate: int | str | None = None, *, data: Any = UNCHANGED, until: str | None = None
    ) -> None:
        """Say that an item moves to another gate, with new data if given; not before the list `until` is complete."""
        self.say(item, Move(gate, data, until=until))

    def say(self, item: Item, outcome: Outcome) -> None:
        """Say an item's outcome, which `settle` writes; the last one counts."""
        if item.position not in self._handed:
            raise Invalid(f"item {item.key!r} does not belong to this claim", "settle it under its own claim")
        self._said[item.position] = resolve(
            from_return_value(outcome), item.attempts, self._rules, self._environment.random
        )
        self._fresh.add(item.position)

    def settle(self, *, using: Any = None, close: bool = True, partial: bool = False) -> dict[str, Verdict]:
        """Write the outcomes that are not written yet, end the claim, and return all verdicts by key.

        They are written in one transaction, or in yours if `using` gives one: then they count when that commits, after
        a rollback the same call settles again, and the verdicts are those on what this call writes. StaleClaim if the
        claim has ended, and in your transaction also if another one has settled it. ItemsGone, in your transaction only
        and unless `partial` asks for verdicts, if items were taken off the list meanwhile. Whatever is raised, nothing
        was written. Without `close` items without an outcome stay claimed.
        """
        close = close or len(self._said) == len(self._handed)
        if using is not None:
            self._left_to_them.update(self._unwritten())
            joined = cast("Transaction", self._runner.join(using))
            return self._verdicts(self._settle_in(joined, close=close, partial=partial))
        if self._given:
            self._find_committed()
        unwritten = self._unwritten()
        self._refuse_unrepeated([each for each in unwritten if each in self._left_to_them])
        if unwritten:
            self._write(unwritten, close=close)
        elif close and not self._closed:
            self._runner.run(claims.close, self._session, self.token)
            self._closed = True
        return self._verdicts(self._committed)

    def _write(self, unwritten: Outcomes, *, close: bool) -> None:
        """Settle in a transaction of its own, whose commit is seen here."""
        settling = list(unwritten.items())
        options: dict[str, Any] = {"holder": self._holder, "close": close}
        verdicts = self._runner.run(settlements.settle, self._session, self.token, settling, **options)
        self._note_committed(unwritten, verdicts)
        self._fresh.clear()
        self._closed = self._closed or close

    def _settle_in(self, tx: "Transaction", *, close: bool, partial: bool) -> Written:
        """Settle in a transaction of the caller's, and return what this call writes if it commits.

        Verdicts of earlier settlements are left out: a caller who writes a row for each would write them again.
        """
        here = self._find_committed(tx) if self._given else {}
        unwritten = {each: said for each, said in self._unwritten().items() if not _is_said(here.get(each), said)}
        closes_a_part = close and not unwritten and not self._fresh
        if not closes_a_part:
            self._refuse_committed(unwritten, here)
        if not self._fresh.isdisjoint(unwritten):
            self._refuse_unrepeated(unwritten)
        settling = list(unwritten.items())
        digest = receipts.digest(settling)
        before = self._given.get(digest)
        self._given[digest] = JoinedSettlement(before.said if before else {}, tx)
        if not unwritten:
            self._close_in(tx, close=close, written_here=bool(here))
            return {}
        options: dict[str, Any] = {"holder": self._holder, "close": close, "partial": partial, "keys": self._keys()}
        verdicts = tx.run(settlements.settle_beside, self._session, self.token, settling, **options)
        self._given[digest] = JoinedSettlement(unwritten, tx)
        self._fresh.clear()
        return _paired(unwritten, verdicts)

    def _refuse_committed(self, unwritten: Outcomes, here: Written) -> None:
        """Refuse what another transaction has settled: else the caller's rows would commit a second time."""
        repeated = any(each in self._committed for each in self._fresh)
        if repeated or (self._said and not unwritten and not here):
            self._fresh.difference_update(self._committed)
            raise StaleClaim.of(self.token)

    def _refuse_unrepeated(self, positions: Iterable[int]) -> None:
        """Refuse to write, beside new outcomes, those that a transaction of the caller's has rolled back."""
        keys = self._keys()
        old = sorted(keys[each] for each in positions if each not in self._fresh)
        if old:
            what = f"a transaction that did not commit was given these items: {', '.join(map(repr, old[:5]))}"
            raise InvalidTransaction(
                what, "say again what becomes of them: claim.done(item), claim.retry(item, error) …"
            )

    def _close_in(self, tx: "Transaction", *, close: bool, written_here: bool) -> None:
        # Nothing is left to write. If the claim has ended elsewhere, the caller's rows must not commit.
        if close:
            there = tx.run(claims.close, self._session, self.token)
        else:
            there = tx.run(settlements.hold, self._session, self.token) is not None
        if not there and not written_here:
            raise StaleClaim.of(self.token)

    def _find_committed(self, tx: "Transaction | None" = None) -> Written:
        """Find which settlements of the caller's transactions are committed; return what this open one has written."""
        asked = {digest: given.said for digest, given in self._given.items() if given.said}
        settlings = [list(said.items()) for said in asked.values()]
        # First inside, then outside: what commits in between is then seen as committed.
        inside = tx.read(receipts.answers, self.token, settlings) if tx else [None] * len(settlings)
        committed = self._runner.read(receipts.answers, self.token, settlings)
        here: Written = {}
        for (digest, said), verdicts, seen in zip(asked.items(), committed, inside, strict=True):
            if verdicts is not None:
                self._note_committed(said, verdicts)
                del self._given[digest]
            elif seen is not None:
                here |= _paired(said, seen)
        return here

    def _note_committed(self, written: Outcomes, verdicts: list[Verdict]) -> None:
        self._committed.update(_paired(written, verdicts))

    def _unwritten(self) -> Outcomes:
        """Return the outcomes that are not known to be committed."""
        if not self._committed:
            return dict(self._said)
        return {each: said for each, said in self._said.items() if not _is_said(self._committed.get(each), said)}

    def _verdicts(self, landed: Written) -> dict[str, Verdict]:
        keys = self._keys()
        return {keys[position]: landed[position][1] for position in self._said if position in landed}

    def _keys(self) -> dict[int, str]:
        return {item.position: item.key for item in self.taken.items}

    def _end(self) -> None:
        """End with its block, or later if a transaction of the caller's that settles it is still open.

        Outcomes in such a transaction are left to it: written outside, they would commit without the caller's rows.
        """
        if not self._given and not self._left_to_them:
            self.settle()
            return
        rest = {each: said for each, said in self._unwritten().items() if each not in self._left_to_them}
        if self._given and not rest and not self._runner.read(claims.is_held, self._session, self.token):
            self._closed = True
            return
        if self._given:
            self._find_committed()  # what has committed is over, whatever its connection is used for now
        if any(given.tx._is_open for given in self._given.values()):
            if rest:
                what = f"the block of the claim {self.token} ends while a transaction is open that settles others of it"
                raise InvalidTransaction(what, "commit it before the block ends, or settle all with using=")
            self._unended.append(self)
        elif rest:
            self._write(rest, close=True)
        elif not self._closed:
            self._runner.run(claims.close, self._session, self.token)
            self._closed = True

    def _plainly_done(self) -> bool:
        """Return whether all items are done and nothing is kept of them: then a pipeline can settle it."""
        untouched = not (self._closed or self._committed or self._given or self._left_to_them)
        return (
            self._plain and untouched and len(self._said) == len(self._handed) and all_plainly_done(self._said.values())
        )

    def _settle_done(self) -> BoundVerb:
        """Return the settlement as a piece of a pipeline."""
        return settlements.try_settle_done.bind(self._session, self.token, list(self._said), use_planner_hints=True)

    def _note_all_done(self, verdicts: list[Verdict]) -> None:
        """Note that a pipeline has settled it."""
        self._note_committed(self._said, verdicts)
        self._closed = True


def _paired(said: Outcomes, verdicts: list[Verdict]) -> Written:
    return dict(zip(said, zip(said.values(), verdicts, strict=True), strict=True))


def _is_said(written: tuple[Outcome, Verdict] | None, said: Outcome) -> bool:
    """Return whether the written outcome is the one that was said."""
    return written is not None and (written[0] is said or _digest(written[0]) == _digest(said))


def _digest(outcome: Outcome) -> str:
    return receipts.digest([(0, outcome)])
