"""Counters: each hands out 1, 2, 3 …, no number twice. Functions that take a transaction."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from rowlock.db import Tx
from rowlock.errors import CounterSpent, Invalid
from rowlock.group_commit import GroupedCall, GroupKey, groupable
from rowlock.json_codec import encode_json
from rowlock.names import check_limit, check_name, check_start
from rowlock.roles import prefix_ranges

MAX_NUMBER = 2**63 - 1
"""The highest number that a counter can reach."""
MAX_NUMBERS_PER_TAKE = 1_000_000_000
"""The most numbers of one take."""


class CounterInfo(msgspec.Struct, frozen=True):
    """A counter and the last number that it handed out."""

    name: str
    value: int


def _group_key(name: str, count: int = 1) -> GroupKey:
    try:
        check_take(name, count)
    except Invalid:
        return GroupKey()  # not merged: the error is raised to its own caller
    # One statement takes numbers of all counters in a group, whatever their names.
    return GroupKey(mergeable=True, argument=(name, count))


def _take_merged(tx: Tx, calls: Sequence[GroupedCall]) -> list[range | CounterSpent]:
    """Take the numbers of several calls by one statement; calls of one counter share its numbers in their order."""
    wanted: Counter[str] = Counter()
    for call in calls:
        name, count = call.group_key.argument
        wanted[name] += count
    last = {name: end - wanted[name] for name, end in _advance(tx, wanted).items()}
    answers: list[range | CounterSpent] = []
    for call in calls:
        name, count = call.group_key.argument
        if name in last:
            answers.append(range(last[name] + 1, last[name] + count + 1))
            last[name] += count
        else:
            answers.append(_take_or_spent(tx, name, count))
    return answers


def _take_or_spent(tx: Tx, name: str, count: int) -> range | CounterSpent:
    """Take the numbers of one call: of calls that exceed a counter together, some may fit alone."""
    try:
        return take(tx, name, count)
    except CounterSpent as spent:
        return spent


@groupable(_group_key, _take_merged)
def take(tx: Tx, name: str, count: int = 1) -> range:
    """Take the counter's next numbers, consecutive; they are taken only if the transaction commits."""
    check_take(name, count)
    ends = _advance(tx, {name: count})
    if name not in ends:
        raise _spent(name, count)
    return range(ends[name] - count + 1, ends[name] + 1)


def take_each(tx: Tx, wanted: Mapping[str, int]) -> dict[str, range]:
    """Take the next numbers of several counters by one statement; all, or CounterSpent and none."""
    for name, count in wanted.items():
        check_take(name, count)
    ends = _advance(tx, wanted) if wanted else {}
    for name, count in wanted.items():
        if name not in ends:
            raise _spent(name, count)
    return {name: range(ends[name] - count + 1, ends[name] + 1) for name, count in wanted.items()}


def _advance(tx: Tx, wanted: Mapping[str, int]) -> dict[str, int]:
    takes = [{"name": name, "count": count} for name, count in wanted.items()]
    return dict(tx.rows("counters/take", takes=encode_json(takes)))


def check_take(name: str, count: int) -> None:
    """Refuse an invalid name or an amount that is out of bounds."""
    check_name(name, "counter")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_NUMBERS_PER_TAKE:
        raise Invalid(f"count must be 1 to {MAX_NUMBERS_PER_TAKE}, got {count!r}")


def _spent(name: str, count: int) -> CounterSpent:
    what = f"the counter {name!r} has no {count} numbers left below {MAX_NUMBER}"
    return CounterSpent(what, "use a counter of another name", counter=name)


def show(tx: Tx, name: str) -> int:
    """Return the last number that the counter handed out; 0 if none."""
    row = tx.row("counters/show", name=name)
    return row[0] if row else 0


def page(tx: Tx, *, after: str = "", limit: int = 1000, prefixes: Sequence[str] = ()) -> list[CounterInfo]:
    """Return counters in the order of their names, strictly after one; with `prefixes`, only those that have one."""
    check_limit(limit, "counters")
    check_start(after)
    found: list[CounterInfo] = []
    for span in prefix_ranges(prefixes):
        found += tx.structs(CounterInfo, "counters/page", after=after, limit=limit - len(found), **span)
    return found


def raise_to(tx: Tx, name: str, number: int) -> int:
    """Raise the counter so that its next number is above this one, never lower it, and return its last number."""
    check_number(name, number)
    raised = tx.value("counters/set_at_least", name=name, value=number)
    return show(tx, name) if raised is None else raised


def check_number(name: str, number: int) -> None:
    """Refuse a number that is out of bounds."""
    check_name(name, "counter")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_NUMBER:
        raise Invalid(f"number must be 0 to {MAX_NUMBER}, got {number!r}")


def epoch(tx: Tx, name: str) -> str | None:
    """Return the epoch of the last block that was reserved for Redis; None if no block was reserved."""
    row = tx.row("counters/show", name=name)
    return row[1] if row else None


def reserve(tx: Tx, name: str, size: int, *, epoch: str, instead: str = "") -> range | None:
    """Reserve a block of numbers under a new epoch; None if another block was reserved since the epoch `instead`."""
    check_take(name, size)
    end = tx.value("counters/reserve_block", name=name, size=size, epoch=epoch, instead=instead)
    if end is not None:
        return range(end - size + 1, end + 1)
    if show(tx, name) > MAX_NUMBER - size:
        raise _spent(name, size)
    return None
