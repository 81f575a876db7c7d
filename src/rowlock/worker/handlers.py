"""Handlers: a function for the items of lists whose name fits a pattern, and how it is to be called."""

import inspect
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from rowlock.attempts import Policy, policy
from rowlock.durations import Duration, milliseconds
from rowlock.errors import Invalid
from rowlock.list_limits import check_attempts
from rowlock.model import Settings
from rowlock.names import matches_pattern

LARGEST_BATCH = 10_000


class HandlerKind(StrEnum):
    """Where a handler runs."""

    PLAIN = "plain"
    ASYNC = "async"
    BATCH = "batch"
    PROCESS = "process"


class Turn(msgspec.Struct, frozen=True):
    """What a handler may know beside its item, if it takes a second argument."""

    token: str
    """The claim's fence: the same for all items of a claim, never given twice."""
    cancelled: threading.Event
    """Set when the turn is over before the handler is: timed out, or the session lost. Nothing will be settled."""


class Handler(msgspec.Struct, frozen=True):
    """A function and its terms."""

    pattern: str
    function: Callable[..., Any]
    kind: HandlerKind
    attempts: int | None
    backoff: str | None
    timeout: float | None
    batch: int
    arguments: int
    accepts: Callable[[Settings], bool] | None = None
    """Whether it is for a list with such settings; None if for any."""
    within: Callable[..., None] | None = None
    """What writes, in the settling transaction, that items are done."""

    def fits(self, name: str) -> bool:
        """Whether a list's items are for this handler; `*` stands for anything."""
        return matches_pattern(self.pattern, name)

    def is_for(self, name: str, settings: Callable[[], Settings]) -> bool:
        """Whether it works a list; its settings are asked for only if they matter."""
        return self.fits(name) and (self.accepts is None or self.accepts(settings()))

    @property
    def wants_transaction(self) -> bool:
        """Whether it writes in the transaction that settles its items."""
        return self.within is not None or (self.kind is HandlerKind.BATCH and self.arguments == 2)

    def rules(self, settings: Settings) -> Policy:
        """When to give up and how long to wait: the handler's own word first, then the list's."""
        attempts = settings.attempts if self.attempts is None else self.attempts
        return policy(attempts, self.backoff or settings.backoff)


def define(
    pattern: str,
    function: Callable[..., Any],
    *,
    attempts: int | None,
    backoff: str | None,
    timeout: Duration | None,
    batch: int | None,
    processes: bool,
    within: Callable[..., None] | None = None,
) -> Handler:
    """A handler from what a user wrote; what cannot work is refused here, not at the first item."""
    if not isinstance(pattern, str) or not pattern:
        raise Invalid(f"{pattern!r} is no pattern of list names", "write a name, or one with *, such as resumes/*")
    if not callable(function):
        raise Invalid(f"{function!r} cannot be called", "give a function of an item")
    if batch is not None and not 1 <= batch <= LARGEST_BATCH:
        raise Invalid(f"a batch of {batch} items cannot be had", f"ask for 1 to {LARGEST_BATCH}")
    if attempts is not None and (isinstance(attempts, bool) or not isinstance(attempts, int)):
        raise Invalid(f"attempts={attempts!r} is no whole number", "say how often an item may fail, or 0 for no limit")
    check_attempts(attempts)
    if within is not None and batch is not None:
        raise Invalid("a batch handler has the settling transaction already", "leave within out")
    policy(attempts, backoff)
    return Handler(
        pattern,
        function,
        _kind(function, batch, processes=processes),
        attempts,
        backoff,
        None if timeout is None else milliseconds(timeout) / 1_000,
        batch or 1,
        _arguments(function),
        within=within,
    )


def _kind(function: Callable[..., Any], batch: int | None, *, processes: bool) -> HandlerKind:
    is_async = inspect.iscoroutinefunction(function)
    if is_async and (batch or processes):
        raise Invalid("an async handler takes one item at a time", "leave batch and processes out")
    if batch and processes:
        raise Invalid("a batch handler runs with its transaction, in this process", "leave processes out")
    if batch:
        return HandlerKind.BATCH
    if processes:
        return HandlerKind.PROCESS
    return HandlerKind.ASYNC if is_async else HandlerKind.PLAIN


def _arguments(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    if not positional or len(required) > 2:
        raise Invalid(
            f"{getattr(function, '__name__', function)!r} takes {len(required)} arguments",
            "a handler takes an item, and a second argument if it likes",
        )
    return min(2, max(1, len(required)))
