"""One transaction for a group of calls: each is answered by itself, and an error of one does not harm the others."""

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from rowlock.db import Database, Transaction, unflushed
from rowlock.db.connections import LockTimeout, RetryTransaction
from rowlock.errors import RowlockError
from rowlock.group_commit.calls import GroupedCall, group_rule

T = TypeVar("T")

MAX_TRANSACTION_SECONDS = 0.05
"""A transaction that has run for longer takes on no more calls."""


class Unanswered(msgspec.Struct):
    """The calls of a group that its transaction has not answered."""

    left: list[GroupedCall] = []
    """Those that it had no time for."""
    blocked: list[GroupedCall] = []
    """Those that wait for a lock of another transaction."""


class _FailedAfterWriting(Exception):
    """A call failed after it had written, or in a merge: nothing of the transaction may stay."""


def commit(database: Database, calls: Sequence[GroupedCall]) -> Unanswered:
    """Run as many of the calls as one transaction has time for, answer them, and return the others."""
    waiting = [call for call in calls if call.waiter.is_waiting()]
    unanswered = Unanswered()
    # A transaction is flushed or not as a whole, and calls that need the flush must not lose it.
    for flushed in (True, False):
        if some := [call for call in waiting if call.flushed is flushed]:
            _Group(database, some).commit(unanswered)
    return unanswered


class _Run(msgspec.Struct):
    """What one run of a group's transaction has done; it counts only if that is committed."""

    until: float = 0.0
    begun: list[GroupedCall] = []
    answers: list[tuple[GroupedCall, Any]] = []
    blocked: list[GroupedCall] = []


class _Group:
    """Calls that run in one transaction."""

    def __init__(self, database: Database, calls: Sequence[GroupedCall]) -> None:
        self._database = database
        self._calls = calls
        self._now = database.environment.monotonic
        self._last = _Run()

    def commit(self, unanswered: Unanswered) -> None:
        """Run the calls and answer them; note those that have no answer yet."""
        try:
            self._run_all()
        except BaseException as error:
            # Also errors that no verb should raise: every waiter must get an answer. Calls that were not begun have
            # another turn.
            self._last = _Run(answers=_all_failed(self._last.begun or self._calls, error))
        for call, answer in self._last.answers:
            _resolve(call, answer)
        unanswered.blocked += self._last.blocked
        if len(self._last.answers) < len(self._calls):
            seen = {id(call) for call, _ in self._last.answers} | {id(call) for call in self._last.blocked}
            unanswered.left += [call for call in self._calls if id(call) not in seen]

    def _run_all(self) -> None:
        if len(self._calls) == 1:
            self._run_alone(self._calls[0])
            return
        try:
            self._run(self._optimistically)
        except (LockTimeout, _FailedAfterWriting):
            self._run(self._one_by_one)

    def _run_alone(self, call: GroupedCall) -> None:
        try:
            self._last = _Run(answers=[(call, self._run(call.run_in))])
        except LockTimeout:
            self._last = _Run(blocked=[call])

    def _run(self, work: Callable[[Transaction], T]) -> T:
        return self._database.run(work if self._calls[0].flushed else unflushed(partial(work)))

    def _optimistically(self, tx: Transaction) -> None:
        """Run without savepoints; raise _FailedAfterWriting if a call fails after it has written."""
        run = self._last = _Run(self._now() + MAX_TRANSACTION_SECONDS)
        for calls in _merged(self._calls):
            run.begun += calls
            writes = tx.writes
            try:
                run.answers += zip(calls, _run_merged(tx, calls), strict=True)
            except (RetryTransaction, LockTimeout):
                raise
            except Exception as error:
                # An error of one among merged calls is not the others': each is then run by itself.
                if len(calls) > 1 or tx.writes != writes:
                    raise _FailedAfterWriting from error
                run.answers += _all_failed(calls, error)
            if self._now() > run.until:
                return

    def _one_by_one(self, tx: Transaction) -> None:
        """Run each call in a savepoint of its own; at least one of them is answered."""
        run = self._last = _Run(self._now() + MAX_TRANSACTION_SECONDS)
        for call in (call for calls in _merged(self._calls) for call in calls):
            run.begun.append(call)
            try:
                with tx.savepoint():
                    answer = call.run_in(tx)
                run.answers.append((call, answer))
            except RetryTransaction:
                raise
            except LockTimeout:
                run.blocked.append(call)
            except Exception as error:
                if tx.broken:
                    raise
                run.answers.append((call, error))
            if self._now() > run.until:
                return


def _all_failed(calls: Iterable[GroupedCall], error: BaseException) -> list[tuple[GroupedCall, Any]]:
    # Each caller gets an exception of its own: whoever catches one adds to it.
    return [(call, copy.copy(error) if isinstance(error, RowlockError) else error) for call in calls]


def _merged(calls: Sequence[GroupedCall]) -> list[list[GroupedCall]]:
    """Return the calls in the order in which they run, those that can be merged in one list."""
    units: dict[tuple[str, str, int], list[GroupedCall]] = {}
    for number, call in enumerate(calls):
        merges = call.group_key.mergeable and group_rule(call.verb).merge is not None
        verb = getattr(call.verb, "__qualname__", "")
        units.setdefault((call.group_key.name, verb, -1 if merges else number), []).append(call)
    return [units[key] for key in sorted(units)]


def _run_merged(tx: Transaction, calls: Sequence[GroupedCall]) -> list[Any]:
    merge = group_rule(calls[0].verb).merge
    if len(calls) == 1 or merge is None:
        return [call.run_in(tx) for call in calls]
    return merge(tx, calls)


def _resolve(call: GroupedCall, answer: Any) -> None:
    try:
        call.waiter.resolve(answer)
    except BaseException:
        # An exception in a callback of one caller must not leave the others without an answer.
        import logging  # heavy, and needed only here

        logging.getLogger("rowlock.group_commit").exception("an answer could not be delivered")
