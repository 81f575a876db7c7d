"""Counters over HTTP."""

from typing import Annotated

import msgspec
from msgspec import Meta

from rowlock import counters
from rowlock.api.documents import page, row
from rowlock.api.operation import Operation
from rowlock.counters import CounterInfo
from rowlock.roles import Role

COUNTER_PATH = "/v1/counters/{counter}"

CounterPage = page("CounterPage", "counters", of=CounterInfo, cells=("name", "value"), cursor="name")


class CounterValue(CounterInfo, frozen=True):
    """A counter and the last number that it has given away."""

    @classmethod
    def from_result(cls, value: int, name: str) -> "CounterValue":
        """Return the value of a counter as it is sent."""
        return CounterValue(name, value)

    def to_result(self) -> int:
        """Return the value alone."""
        return self.value

    def text(self) -> str:
        """Return the value alone."""
        return f"{self.value}\n"


class TakeOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many numbers are wanted."""

    count: int = msgspec.field(default=1, name="take")


class Numbers(msgspec.Struct, frozen=True):
    """Numbers in a row that nobody else is given: from the first to the last."""

    counter: str
    first: int
    last: int

    @classmethod
    def from_result(cls, numbers: range, name: str) -> "Numbers":
        """Return numbers of a counter as they are sent."""
        return Numbers(name, numbers[0], numbers[-1])

    def to_result(self) -> range:
        """Return the numbers."""
        return range(self.first, self.last + 1)

    def text(self) -> str:
        """Return the first and the last; once if they are the same."""
        return row(dict.fromkeys((self.first, self.last)))


class LeastNumber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number that the next one shall be above."""

    number: Annotated[int, Meta(description="The next number is above this one.")] = msgspec.field(name="to")


OPERATIONS = (
    Operation(counters.page, "GET", "/v1/counters", Role.VIEWER, CounterPage),
    Operation(counters.show, "GET", COUNTER_PATH, Role.VIEWER, CounterValue),
    Operation(
        counters.take,
        "POST",
        COUNTER_PATH,
        Role.WORKER,
        Numbers,
        body=TakeOptions,
        keyed=True,
        description="A counter is made when it is first asked. A repeated request gives other numbers; under an"
        " Idempotency-Key it gives the same. What many ask at the same moment is one transaction.",
    ),
    Operation(counters.raise_to, "POST", f"{COUNTER_PATH}/raise", Role.OPERATOR, CounterValue, body=LeastNumber),
)
