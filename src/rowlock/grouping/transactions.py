"""One transaction for a group: all calls in it are answered, and what one of them breaks is not the others'."""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rowlock.db import Database, Transaction
from rowlock.db.connections import RunAgain
from rowlock.errors import RowlockError
from rowlock.grouping.calls import Call, placing

LONGEST = 0.05
"""Seconds after which a transaction takes on no more of those that wait."""

Answered = list[tuple[Call, Any]]


def answer(database: Database, calls: Sequence[Call]) -> list[Call]:
    """Do as many of the calls as one transaction takes on, and answer them; those that are left."""
    wanted = [call for call in calls if call.waiter.begin()]
    try:
        answered = _answers(database, wanted)
    except BaseException as error:
        # Also what no verb should raise: whoever waits must be told something.
        answered = _all_told(wanted, error)
    for call, each in answered:
        call.waiter.tell(each)
    if len(answered) == len(wanted):
        return []
    told = {id(call) for call, _ in answered}
    return [call for call in wanted if id(call) not in told]


def _answers(database: Database, calls: Sequence[Call]) -> Answered:
    if len(calls) <= 1:
        return [(call, database.run(call.done_in)) for call in calls]
    units = _units(calls)
    try:
        return database.run(_at_once, units, now=database.world.monotonic)
    except _Torn:
        alone = [call for unit in units for call in unit]
        return database.run(_one_by_one, alone, now=database.world.monotonic)


class _Torn(Exception):
    """A call broke off after it had written something, or broke the transaction: nothing of the group may stay."""


def _units(calls: Sequence[Call]) -> list[list[Call]]:
    units: dict[tuple[str, str, int], list[Call]] = {}
    for number, call in enumerate(calls):
        merges = call.place.merges and placing(call.verb).together is not None
        name = getattr(call.verb, "__qualname__", "")
        units.setdefault((call.place.name, name, -1 if merges else number), []).append(call)
    return [units[key] for key in sorted(units)]


def _at_once(tx: Transaction, units: Iterable[list[Call]], *, now: Callable[[], float]) -> Answered:
    """Most groups hold nothing wrong, or only what is refused before it has written: nothing guards them."""
    answered: Answered = []
    until = now() + LONGEST
    for calls in units:
        clean = tx.marks
        try:
            answers = _together(tx, calls)
        except RunAgain:
            raise
        except Exception as error:
            if tx.marks != clean:
                raise _Torn from error
            answered += _all_told(calls, error)
        else:
            answered += zip(calls, answers, strict=True)
        if now() > until:
            break
    return answered


def _together(tx: Transaction, calls: Sequence[Call]) -> list[Any]:
    together = placing(calls[0].verb).together
    if len(calls) == 1 or together is None:
        return [call.done_in(tx) for call in calls]
    return together(tx, calls)


def _one_by_one(tx: Transaction, calls: Iterable[Call], *, now: Callable[[], float]) -> Answered:
    """Each call behind a guard of its own."""
    answered: Answered = []
    until = now() + LONGEST
    for call in calls:
        try:
            with tx.whole():
                each = call.done_in(tx)
        except RunAgain:
            raise
        except Exception as error:
            if tx.broken:
                raise
            each = error
        answered.append((call, each))
        if now() > until:
            break
    return answered


def _all_told(calls: Iterable[Call], error: BaseException) -> Answered:
    # Each in an exception of its own: those who catch one add to it.
    return [(call, copy.copy(error) if isinstance(error, RowlockError) else error) for call in calls]
