"""Calls: a verb with what it was given, and where it belongs among others."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from rowlock.db import Transaction, is_flushed, unflushed

V = TypeVar("V", bound=Callable[..., Any])


class Place(msgspec.Struct, frozen=True):
    """Where a call belongs in a group."""

    name: str = ""
    """What it touches: calls go in the order of these, so that two processes do not lock crosswise."""
    merges: bool = False
    """Whether it can be done together with others of its verb and name."""
    apart: bool = False
    """Whether it takes so long that nobody else should wait for it."""
    weight: int = 1
    """How many things it touches: a group is bounded by their sum."""
    given: Any = None
    """What it was given, for doing it together with others."""


class Asker(Protocol):
    """Whoever waits for an answer."""

    def begin(self) -> bool:
        """Whether it is still wanted; after a yes it is done."""

    def tell(self, answer: Any) -> None:
        """Here is the answer; an exception is to be raised."""


class Call(msgspec.Struct, frozen=True, eq=False):
    """A verb with what it was given, and whom to answer."""

    verb: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    place: Place
    asker: Asker

    @property
    def flushed(self) -> bool:
        """Whether it must be on the disk when it is answered: what need not be goes in a transaction of its own."""
        return is_flushed(self.verb)

    def done_in(self, tx: Transaction) -> Any:
        """Run the verb."""
        return self.verb(tx, *self.args, **self.kwargs)


Together = Callable[[Transaction, Sequence[Call]], list[Any]]
"""Does calls of one verb in one place: what each is answered, in order; an exception is raised to that caller alone."""


class Placing(msgspec.Struct, frozen=True):
    """How the calls of a verb take part in groups."""

    where: Callable[..., Place] = lambda *_, **__: Place()
    together: Together | None = None


_ANYWHERE = Placing()


def placed(where: Callable[..., Place], together: Together | None = None) -> Callable[[V], V]:
    """Mark a verb: `where` reads a call's place from its arguments, `together` does several at once."""

    def mark(verb: V) -> V:
        vars(verb)["placing"] = Placing(where, together)
        return verb

    return mark


def placed_as(like: Callable[..., Any]) -> Callable[[V], V]:
    """Mark a verb that takes the arguments of another one: it belongs in the same place, but is done by itself."""

    def mark(verb: V) -> V:
        placed(placing(like).where)(verb)
        return verb if is_flushed(like) else unflushed(verb)

    return mark


def placing(verb: Callable[..., Any]) -> Placing:
    """How a verb is marked."""
    found: Placing = getattr(verb, "placing", _ANYWHERE)
    return found
