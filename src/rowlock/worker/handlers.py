"""Handlers: functions for the items of lists whose names fit a pattern, and how they are called."""

import inspect
import logging
import threading
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, TypedDict

import msgspec

from rowlock import lists
from rowlock.durations import Duration, milliseconds
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid, NoSuchList, RowlockError
from rowlock.model import Settings
from rowlock.names import matches_pattern
from rowlock.retry_policy import Policy, policy
from rowlock.settings import check_attempts
from rowlock.worker.typed_items import Decode, data_decoder

log = logging.getLogger("rowlock.worker")

MAX_BATCH_ITEMS = 10_000


class HandlerKind(StrEnum):
    """Where a handler runs."""

    PLAIN = "plain"
    ASYNC = "async"
    BATCH = "batch"
    PROCESS = "process"


class Turn(msgspec.Struct, frozen=True):
    """The second argument of a handler that takes two: its claim's token, and whether its turn is over."""

    token: str
    """The claim's fencing token: the same for all items of a claim, and never used again."""
    cancelled: threading.Event
    """Set when the turn ends before the handler does, by a timeout or a lost session: nothing will be settled."""


class HandlerOptions(TypedDict, total=False):
    """Options of every handler."""

    gate: int | str | None
    attempts: int | None
    backoff: str | None
    timeout: Duration | None
    processes: bool
    within: Callable[..., None] | None


class Handler(msgspec.Struct, frozen=True):
    """A function and its options."""

    pattern: str
    function: Callable[..., Any]
    kind: HandlerKind
    attempts: int | None
    backoff: str | None
    timeout: float | None
    batch: int
    arguments: int
    accepts: Callable[[Settings], bool] | None = None
    """Whether it works lists with these settings; None for any."""
    within: Callable[..., None] | None = None
    """Called in the settling transaction, with the items that are done."""
    gate: int | str | None = None
    """The gate whose items it works, by number or name; None for all."""
    decode: Decode | None = None
    """Decodes the data of each item; None leaves that to the handler."""
    executor: Callable[..., Any] | None = None
    """Makes the executor that runs its items; None for the worker's own."""

    def fits(self, name: str) -> bool:
        """Return whether a list's name fits the pattern; `*` stands for anything."""
        return matches_pattern(self.pattern, name)

    def is_for(self, name: str, settings: Callable[[], Settings]) -> bool:
        """Return whether it works a list; its settings are read only if they matter."""
        return self.fits(name) and (self.accepts is None or self.accepts(settings()))

    @property
    def wants_transaction(self) -> bool:
        """Whether it writes in the transaction that settles its items."""
        return self.within is not None or (self.kind is HandlerKind.BATCH and self.arguments == 2)

    def rules(self, settings: Settings) -> Policy:
        """Return when to give up and how long to wait: by the handler's options first, then the list's settings."""
        attempts = settings.attempts if self.attempts is None else self.attempts
        return policy(attempts, self.backoff or settings.backoff)


def define(
    pattern: str,
    function: Callable[..., Any],
    *,
    attempts: int | None = None,
    backoff: str | None = None,
    timeout: Duration | None = None,
    batch: int | None = None,
    processes: bool = False,
    accepts: Callable[[Settings], bool] | None = None,
    within: Callable[..., None] | None = None,
    gate: int | str | None = None,
    data: Any = None,
) -> Handler:
    """Return a handler for a user's function; what cannot work is refused here, not at the first item."""
    if not isinstance(pattern, str) or not pattern:
        raise Invalid(f"pattern must be a list name or one with *, got {pattern!r}", "for example resumes/*")
    if not callable(function):
        raise Invalid(f"function must be callable, got {function!r}", "give a function of an item")
    if batch is not None and not 1 <= batch <= MAX_BATCH_ITEMS:
        raise Invalid(f"batch must be 1 to {MAX_BATCH_ITEMS}, got {batch}")
    if attempts is not None and (isinstance(attempts, bool) or not isinstance(attempts, int)):
        raise Invalid(f"attempts must be a whole number, got {attempts!r}", "0 is for no limit")
    check_attempts(attempts)
    if within is not None and batch is not None:
        raise Invalid("a batch handler has the settling transaction already", "leave within out")
    if isinstance(gate, bool) or not (gate is None or isinstance(gate, str) or (isinstance(gate, int) and gate >= 0)):
        raise Invalid(f"gate must be a whole number from 0, or a name, got {gate!r}")
    policy(attempts, backoff)
    kind, seconds = _kind(function, batch, processes=processes), timeout_seconds(timeout)
    arguments = _arguments(function)
    handler = Handler(pattern, function, kind, attempts, backoff, seconds, batch or 1, arguments, accepts, within)
    return msgspec.structs.replace(handler, gate=gate, decode=data_decoder(data))


def warn_of_missing_lists(engine: Handles, handlers: Iterable[Handler], *, expected: bool) -> None:
    """Warn of handlers for a list that does not exist and is `expected`, or whose name is like that of another."""
    for name in {handler.pattern: None for handler in handlers if "*" not in handler.pattern}:
        try:
            engine.read(lists.show, name)
        except NoSuchList as error:
            # The first item creates a list: a worker that waits for it may start earlier.
            level = logging.WARNING if expected or "did you mean" in error.hint else logging.INFO
            log.log(level, "no list matches %r; %s", name, error.hint, extra={"pattern": name})
        except RowlockError:
            return


def timeout_seconds(timeout: Duration | None) -> float | None:
    """Return a timeout in seconds; refuse one in which nothing could be done."""
    if timeout is None:
        return None
    if not (length := milliseconds(timeout)):
        raise Invalid(f"timeout must be more than 0, got {timeout!r}", "leave it out for none")
    return length / 1_000


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
