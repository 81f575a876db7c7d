"""Calls: a verb with what it was given, and where it belongs among others."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from rowlock.db import Transaction, is_flushed, unflushed

V = TypeVar("V", bound=Callable[..., Any])


class GroupKey(msgspec.Struct, frozen=True):
    """Where a call belongs in a group."""

    name: str = ""
    """What it touches: calls go in the order of these, so that two processes do not lock crosswise."""
    mergeable: bool = False
    """Whether it can be done together with others of its verb and name."""
    isolated: bool = False
    """Whether it takes so long that nobody else should wait for it."""
    cost: int = 1
    """How many things it touches: a group is bounded by their sum."""
    argument: Any = None
    """What it was given, for doing it together with others."""


class Waiter(Protocol):
    """Whoever waits for an answer."""

    def is_waiting(self) -> bool:
        """Whether it is still wanted; after a yes it is done."""

    def resolve(self, answer: Any) -> None:
        """Here is the answer; an exception is to be raised."""


class GroupedCall(msgspec.Struct, frozen=True, eq=False):
    """A verb with what it was given, and whom to answer."""

    verb: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    group_key: GroupKey
    waiter: Waiter

    @property
    def flushed(self) -> bool:
        """Whether it must be on the disk when it is answered: what need not be goes in a transaction of its own."""
        return is_flushed(self.verb)

    def done_in(self, tx: Transaction) -> Any:
        """Run the verb."""
        return self.verb(tx, *self.args, **self.kwargs)


Merge = Callable[[Transaction, Sequence[GroupedCall]], list[Any]]
"""Does calls of one verb in one place: what each is answered, in order; an exception is raised to that caller alone."""


class GroupRule(msgspec.Struct, frozen=True):
    """How the calls of a verb take part in groups."""

    key: Callable[..., GroupKey] = lambda *_, **__: GroupKey()
    merge: Merge | None = None


_DEFAULT_RULE = GroupRule()


def groupable(key: Callable[..., GroupKey], merge: Merge | None = None) -> Callable[[V], V]:
    """Mark a verb: `where` reads a call's place from its arguments, `together` does several at once."""

    def mark(verb: V) -> V:
        vars(verb)["group_rule"] = GroupRule(key, merge)
        return verb

    return mark


def groupable_like(like: Callable[..., Any]) -> Callable[[V], V]:
    """Mark a verb that takes the arguments of another one: it belongs in the same place, but is done by itself."""

    def mark(verb: V) -> V:
        groupable(group_rule(like).key)(verb)
        return verb if is_flushed(like) else unflushed(verb)

    return mark


def group_rule(verb: Callable[..., Any]) -> GroupRule:
    """How a verb is marked."""
    found: GroupRule = getattr(verb, "group_rule", _DEFAULT_RULE)
    return found
