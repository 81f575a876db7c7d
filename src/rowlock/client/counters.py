"""Ways of counters: each is a verb of `rowlock.counters`, asked of a server."""

from collections.abc import Sequence

import msgspec

from rowlock.client.link import Link
from rowlock.counters import CounterInfo, check_number, check_take
from rowlock.names import check_limit, check_start


class Numbers(msgspec.Struct, frozen=True):
    """Numbers in a row."""

    first: int
    last: int


class CounterPage(msgspec.Struct, frozen=True):
    """A page of counters."""

    counters: list[CounterInfo]


def take(link: Link, name: str, count: int = 1) -> range:
    """The counter's next numbers, in a row; the same ones if the answer was lost."""
    check_take(name, count)
    numbers = link.ask("POST", "counters", name, gives=Numbers, body={"take": count}, keyed=True)
    return range(numbers.first, numbers.last + 1)


def show(link: Link, name: str) -> int:
    """The last number that the counter has given away."""
    return link.ask("GET", "counters", name, gives=CounterInfo).value


def page(link: Link, *, after: str = "", limit: int = 1000, prefixes: Sequence[str] = ()) -> list[CounterInfo]:  # noqa: ARG001
    """Counters in the order of their names; a token's prefixes are the server's to heed."""
    check_limit(limit, "counters")
    check_start(after)
    return link.ask("GET", "counters", gives=CounterPage, query={"count": limit, "after": after or None}).counters


def raise_to(link: Link, name: str, number: int) -> int:
    """See to it that the next number is above this one."""
    check_number(name, number)
    return link.ask("POST", "counters", name, "raise", gives=CounterInfo, body={"to": number}).value
