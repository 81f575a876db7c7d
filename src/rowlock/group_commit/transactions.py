"""One transaction for a group: all calls in it are answered, and what one of them breaks is not the others'."""

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

import msgspec

from rowlock.db import Database, Transaction, unflushed
from rowlock.db.connections import LockTimeout, RetryTransaction
from rowlock.errors import RowlockError
from rowlock.group_commit.calls import GroupedCall, group_rule

P = ParamSpec("P")
T = TypeVar("T")

MAX_TRANSACTION_SECONDS = 0.05
"""Seconds after which a transaction takes on no more of those that wait."""

Answered = list[tuple[GroupedCall, Any]]


class Rest(msgspec.Struct):
    """What was not answered."""

    left: list[GroupedCall] = []
    """Those that the transaction did not take on any more."""
    stuck: list[GroupedCall] = []
    """Those that stand before something that others have locked."""


class _Done(msgspec.Struct):
    """What a transaction has done, once it is committed."""

    answered: Answered = []
    stuck: list[GroupedCall] = []


class _Torn(Exception):
    """A call broke off after it had written something, or broke the transaction: nothing of the group may stay."""


def answer(database: Database, calls: Sequence[GroupedCall]) -> Rest:
    """Do as many of the calls as one transaction takes on, and answer them; the rest."""
    wanted = [call for call in calls if call.waiter.is_waiting()]
    # A transaction is flushed or not as a whole: a claim in it would take the others' promise away.
    flushed = _answer(database, [call for call in wanted if call.flushed])
    others = _answer(database, [call for call in wanted if not call.flushed])
    return Rest(flushed.left + others.left, flushed.stuck + others.stuck)


def _answer(database: Database, wanted: Sequence[GroupedCall]) -> Rest:
    if not wanted:
        return Rest()
    begun: list[GroupedCall] = []
    try:
        done = _do(database, wanted, begun)
    except BaseException as error:
        # Also what no verb should raise: whoever waits must be told something; who was not taken on has another turn.
        done = _Done(_all_told(begun or wanted, error))
    for call, each in done.answered:
        _resolve(call, each)
    if len(done.answered) == len(wanted):
        return Rest()
    seen = {id(call) for call, _ in done.answered} | {id(call) for call in done.stuck}
    return Rest([call for call in wanted if id(call) not in seen], done.stuck)


def _resolve(call: GroupedCall, answer: Any) -> None:
    try:
        call.waiter.resolve(answer)
    except BaseException:
        # What a callback of one caller raises must not leave the others without an answer.
        import logging  # heavy, and only trouble needs it

        logging.getLogger("rowlock.group_commit").exception("an answer could not be given")


def _do(database: Database, calls: Sequence[GroupedCall], begun: list[GroupedCall]) -> _Done:
    if len(calls) == 1:
        return _alone(database, calls[0])
    units = _units(calls)
    try:
        return database.run(_as_flushed(_at_once, calls), units, begun=begun, now=database.environment.monotonic)
    except (LockTimeout, _Torn):
        each = [call for unit in units for call in unit]
        return database.run(_as_flushed(_one_by_one, calls), each, begun=begun, now=database.environment.monotonic)


def _as_flushed(way: Callable[P, T], calls: Sequence[GroupedCall]) -> Callable[P, T]:
    return way if calls[0].flushed else unflushed(partial(way))


def _alone(database: Database, call: GroupedCall) -> _Done:
    try:
        return _Done([(call, database.run(_as_flushed(call.done_in, [call])))])
    except LockTimeout:
        return _Done(stuck=[call])


def _units(calls: Sequence[GroupedCall]) -> list[list[GroupedCall]]:
    units: dict[tuple[str, str, int], list[GroupedCall]] = {}
    for number, call in enumerate(calls):
        merges = call.group_key.mergeable and group_rule(call.verb).merge is not None
        name = getattr(call.verb, "__qualname__", "")
        units.setdefault((call.group_key.name, name, -1 if merges else number), []).append(call)
    return [units[key] for key in sorted(units)]


def _at_once(
    tx: Transaction, units: Iterable[list[GroupedCall]], *, begun: list[GroupedCall], now: Callable[[], float]
) -> _Done:
    """Most groups hold nothing wrong, or only what is refused before it has written: nothing guards them."""
    done = _Done()
    begun.clear()
    until = now() + MAX_TRANSACTION_SECONDS
    for calls in units:
        begun += calls
        clean = tx.writes
        try:
            answers = _together(tx, calls)
        except (RetryTransaction, LockTimeout):
            raise
        except Exception as error:
            # What one of several brought about is not the others': each is then asked by itself.
            if len(calls) > 1 or tx.writes != clean:
                raise _Torn from error
            done.answered += _all_told(calls, error)
        else:
            done.answered += zip(calls, answers, strict=True)
        if now() > until:
            break
    return done


def _together(tx: Transaction, calls: Sequence[GroupedCall]) -> list[Any]:
    merge = group_rule(calls[0].verb).merge
    if len(calls) == 1 or merge is None:
        return [call.done_in(tx) for call in calls]
    return merge(tx, calls)


def _one_by_one(
    tx: Transaction, calls: Iterable[GroupedCall], *, begun: list[GroupedCall], now: Callable[[], float]
) -> _Done:
    """Each call behind a guard of its own; at least one of them is done with."""
    done = _Done()
    begun.clear()
    until = now() + MAX_TRANSACTION_SECONDS
    for call in calls:
        begun.append(call)
        try:
            with tx.savepoint():
                each = call.done_in(tx)
            done.answered.append((call, each))
        except RetryTransaction:
            raise
        except LockTimeout:
            done.stuck.append(call)
        except Exception as error:
            if tx.broken:
                raise
            done.answered.append((call, error))
        if now() > until:
            break
    return done


def _all_told(calls: Iterable[GroupedCall], error: BaseException) -> Answered:
    # Each in an exception of its own: those who catch one add to it.
    return [(call, copy.copy(error) if isinstance(error, RowlockError) else error) for call in calls]
