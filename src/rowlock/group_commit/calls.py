"""Calls of verbs: how they take part in group commits, and the waiters for their answers.

Waking a waiter is the costliest part of a small write, so each kind has the cheapest way that serves it.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from rowlock.db import Tx, is_flushed, unflushed

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

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
    """A verb with its arguments, and the waiter for its answer."""

    verb: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    group_key: GroupKey
    waiter: Waiter


Merge = Callable[[Tx, Sequence[GroupedCall]], list[Any]]
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
    rule: GroupRule = getattr(verb, "group_rule", _DEFAULT_RULE)
    return rule


def merged(calls: Sequence[GroupedCall]) -> list[list[GroupedCall]]:
    """Return the calls in the order in which they run, those that can be merged in one list."""
    units: dict[tuple[str, str, int], list[GroupedCall]] = {}
    for number, call in enumerate(calls):
        merges = call.group_key.mergeable and group_rule(call.verb).merge is not None
        verb = getattr(call.verb, "__qualname__", "")
        units.setdefault((call.group_key.name, verb, -1 if merges else number), []).append(call)
    return [units[key] for key in sorted(units)]


def run_merged(tx: Tx, calls: Sequence[GroupedCall]) -> list[Any]:
    """Run calls that can be merged and return their answers in order."""
    merge = group_rule(calls[0].verb).merge
    if len(calls) == 1 or merge is None:
        return [call.verb(tx, *call.args, **call.kwargs) for call in calls]
    return merge(tx, calls)


class ThreadWaiter:
    """A thread that blocks until the answer is there."""

    def __init__(self) -> None:
        self._answered = threading.Lock()
        self._answered.acquire()
        self._answer: Any = None
        self.wanted = True
        """Whether the thread was not interrupted."""

    def is_waiting(self) -> bool:
        """Return whether the thread still waits."""
        return self.wanted

    def resolve(self, answer: Any) -> None:
        """Wake the thread."""
        self._answer = answer
        self._answered.release()

    def wait(self) -> Any:
        """Block until the answer is there; return or raise it."""
        self._answered.acquire()
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


class FutureWaiter(msgspec.Struct, eq=False):
    """A `concurrent.futures.Future`."""

    future: "Future[Any]"

    def is_waiting(self) -> bool:
        """Return whether the future was not cancelled."""
        return self.future.running() or self.future.set_running_or_notify_cancel()

    def resolve(self, answer: Any) -> None:
        """Set the future's result or exception."""
        _resolve_future(self.future, answer)


class LoopMailbox(msgspec.Struct, eq=False):
    """Answers for the coroutines of one event loop, which is woken once for all that have come."""

    answers: "deque[tuple[asyncio.Future[Any], Any]]" = msgspec.field(default_factory=deque)
    is_scheduled: bool = False
    """Whether the loop is going to deliver the answers."""

    def deliver(self) -> None:
        """Deliver all answers, in the thread of the loop."""
        self.is_scheduled = False  # first: an answer that comes now is delivered here or by another call
        while self.answers:
            future, answer = self.answers.popleft()
            if not future.done():
                _resolve_future(future, answer)


class LoopWaiter(msgspec.Struct, eq=False):
    """A coroutine that awaits the answer."""

    mailbox: LoopMailbox
    future: "asyncio.Future[Any]"

    def is_waiting(self) -> bool:
        """Return whether the coroutine still awaits."""
        return not self.future.cancelled()

    def resolve(self, answer: Any) -> None:
        """Send the answer to the event loop, from any thread."""
        mailbox = self.mailbox
        mailbox.answers.append((self.future, answer))
        if mailbox.is_scheduled:
            return
        mailbox.is_scheduled = True
        try:
            self.future.get_loop().call_soon_threadsafe(mailbox.deliver)
        except RuntimeError:  # the loop has ended, and with it all coroutines that waited
            mailbox.answers.clear()


def _resolve_future(future: "Future[Any] | asyncio.Future[Any]", answer: Any) -> None:
    if isinstance(answer, BaseException):
        future.set_exception(answer)
    else:
        future.set_result(answer)
