"""Calls of verbs, and how they take part in group commits."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from rowlock.db import Transaction, is_flushed, unflushed

V = TypeVar("V", bound=Callable[..., Any])


class GroupKey(msgspec.Struct, frozen=True):
    """How one call takes part in a group."""

    name: str = ""
    """What it touches: calls run in the order of these, so that two processes do not lock crosswise."""
    mergeable: bool = False
    """Whether it can be merged with others of its verb and name."""
    isolated: bool = False
    """Whether it takes so long that no other call should wait for it."""
    cost: int = 1
    """How many rows it touches: a group is bounded by their sum."""
    argument: Any = None
    """What a merge needs of its arguments."""


class Waiter(Protocol):
    """Waits for the answer to a call."""

    def is_waiting(self) -> bool:
        """Return whether the answer is still wanted; after True the call is run."""

    def resolve(self, answer: Any) -> None:
        """Deliver the answer; an exception is raised to the caller."""


class GroupedCall(msgspec.Struct, frozen=True, eq=False):
    """A verb with its arguments, and who waits for the answer."""

    verb: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    group_key: GroupKey
    waiter: Waiter

    @property
    def flushed(self) -> bool:
        """Whether it must be on the disk when it is answered: what need not be goes in a transaction of its own."""
        return is_flushed(self.verb)

    def run_in(self, tx: Transaction) -> Any:
        """Run the verb."""
        return self.verb(tx, *self.args, **self.kwargs)


Merge = Callable[[Transaction, Sequence[GroupedCall]], list[Any]]
"""Runs several calls of one verb and one key; returns their answers in order. An exception among them is raised to that
caller alone."""


class GroupRule(msgspec.Struct, frozen=True):
    """How the calls of a verb take part in groups."""

    key: Callable[..., GroupKey] = lambda *_, **__: GroupKey()
    merge: Merge | None = None


_DEFAULT_RULE = GroupRule()


def groupable(key: Callable[..., GroupKey], merge: Merge | None = None) -> Callable[[V], V]:
    """Mark a verb: `key` makes a call's GroupKey from its arguments, `merge` runs several calls at once."""

    def mark(verb: V) -> V:
        vars(verb)["group_rule"] = GroupRule(key, merge)
        return verb

    return mark


def groupable_like(like: Callable[..., Any]) -> Callable[[V], V]:
    """Mark a verb that takes the arguments of another one: it has the same keys, but its calls are not merged."""

    def mark(verb: V) -> V:
        groupable(group_rule(like).key)(verb)
        return verb if is_flushed(like) else unflushed(verb)

    return mark


def group_rule(verb: Callable[..., Any]) -> GroupRule:
    """Return how a verb is marked."""
    found: GroupRule = getattr(verb, "group_rule", _DEFAULT_RULE)
    return found
