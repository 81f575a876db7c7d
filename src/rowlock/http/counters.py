"""Routes of counters: numbers that never come twice."""

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from rowlock import counters
from rowlock.counters import CounterInfo
from rowlock.db import Transaction
from rowlock.http.call import Answer, Call
from rowlock.http.once import once
from rowlock.http.pages import Page, link
from rowlock.http.texts import form, row

PAGE = 1_000


class CounterQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which counters."""

    count: Annotated[int, Meta(description="At most so many.")] = PAGE
    after: Annotated[str, Meta(description="Strictly after this name, in byte order.")] = ""


class CounterPage(Page, frozen=True):
    """A page of counters, each with the last number that it has given away."""

    counters: list[CounterInfo]
    next: str | None
    """What to give as `after` for the next page; none if this is the last."""


class Take(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many numbers are wanted."""

    take: int = 1


class Numbers(msgspec.Struct, frozen=True):
    """Numbers in a row that nobody else is given: from the first to the last."""

    counter: str
    first: int
    last: int


class Raise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number that the next one shall be above."""

    to: int


async def page(call: Call) -> Answer:
    """The counters in the order of their names."""
    query: CounterQuery = call.query
    found = await call.service.executor.read(
        counters.page, after=query.after, limit=query.count, prefixes=call.principal.lists
    )
    after = found[-1].name if found and len(found) == query.count else None
    return Answer(CounterPage(found, after), headers=link(call, after, count=query.count))


async def show(call: Call) -> CounterInfo:
    """The last number that a counter has given away; 0 if none."""
    name = call.path["counter"]
    return CounterInfo(name, await call.service.executor.read(counters.show, name))


async def take(call: Call) -> Answer:
    """Take a counter's next number, or several in a row; it is made when it is first asked.

    Asked again it gives others; under an Idempotency-Key it gives the same. What many ask at the same moment is one
    transaction.
    """
    asked: Take = await call.document()
    name = call.path["counter"]
    if not call.header(b"idempotency-key"):
        numbers = await call.service.executor.write(counters.take, name, asked.take)
        return Answer(Numbers(name, numbers[0], numbers[-1]))
    work = partial(_taken, name=name, count=asked.take)
    (first, last), headers = await once(call, work, asked=[name, asked.take])
    return Answer(Numbers(name, first, last), headers=headers)


def _taken(tx: Transaction, *, name: str, count: int) -> list[int]:
    numbers = counters.take(tx, name, count)
    return [numbers[0], numbers[-1]]


async def raise_to(call: Call) -> CounterInfo:
    """See to it that a counter's next number is above this one; it is never lowered."""
    asked: Raise = await call.document()
    name = call.path["counter"]
    return CounterInfo(name, await call.service.executor.write(counters.raise_to, name, asked.to))


@form(CounterPage)
def _rows(page: CounterPage) -> str:
    return "".join(row((each.name, each.value)) for each in page.counters)


@form(CounterInfo)
def _value(info: CounterInfo) -> str:
    return f"{info.value}\n"


@form(Numbers)
def _numbers(numbers: Numbers) -> str:
    return row(dict.fromkeys((numbers.first, numbers.last)))
