"""Outcomes of an item's turn: Done, Retry, Move or Fail; what a handler returns or raises becomes one of them."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal

import msgspec

from rowlock.durations import Duration, milliseconds
from rowlock.errors import InvalidOutcome, RowlockError
from rowlock.model import GATES
from rowlock.names import check_name, short_repr

UNCHANGED = msgspec.UNSET

MAX_TRACEBACK_CHARACTERS = 4_000
MAX_TRACEBACK_FRAMES = 30
MAX_TRACEBACK_PART_CHARACTERS = 1_000
"""Of one frame, or of the message: a long message must not displace the frames."""


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The item succeeded and is removed; `result` is stored if the list keeps results."""

    result: Any = None


class Retry(msgspec.Struct, frozen=True, tag="retry"):
    """The item failed and is tried again, after `after`; when its attempts are used up it is failed."""

    error: str = ""
    after: Duration | None = None
    counted: bool = True
    """Whether this counts as a failed attempt."""
    kind: str = "retry"
    traceback: str | None = None
    """Where it was raised; stored with the failure."""


class Move(msgspec.Struct, frozen=True, tag="move"):
    """The item goes to another gate, or to the end of this one, with new data; what is left out stays as it is."""

    gate: int | str | None = None
    """Its number, or its name in the list's settings."""
    data: Any = UNCHANGED
    after: Duration | None = None
    until: str | None = None
    """The name of a list: the item waits until that list is complete."""


class Fail(msgspec.Struct, frozen=True, tag="fail"):
    """The item is given up, and kept until it is retried or abandoned."""

    error: str = ""
    kind: str = "fail"
    traceback: str | None = None
    """Where it was raised; stored with the failure."""


Outcome = Done | Retry | Move | Fail


class PositionedOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The outcome of the item at a position, as one flat JSON object."""

    position: int
    outcome: Literal["done", "retry", "move", "fail"] = "done"
    result: Any = None
    """The result of a done item, stored if the list keeps results."""
    error: str = ""
    kind: str | None = None
    after: float | None = None
    """Seconds to wait."""
    counted: bool = True
    """Whether a retry counts as a failed attempt."""
    gate: int | str | None = None
    data: Any = UNCHANGED
    until: str | None = None
    """The list that a move waits for."""
    traceback: str | None = None
    """Where a handler raised the error."""

    @classmethod
    def of(cls, position: int, outcome: Outcome) -> "PositionedOutcome":
        """Write an outcome as JSON has it."""
        match outcome:
            case Done(result):
                return cls(position, "done", result)
            case Retry(error, after, counted, kind, traceback):
                wait = _seconds(after)
                return cls(position, "retry", None, error, kind, wait, counted, traceback=traceback)
            case Move(gate, data, after, until):
                return cls(position, "move", gate=gate, data=data, after=_seconds(after), until=until)
            case Fail(error, kind, traceback):
                return cls(position, "fail", error=error, kind=kind, traceback=traceback)

    def read(self) -> Outcome:
        """Read the outcome, and check it."""
        match self.outcome:
            case "done":
                return Done(self.result)
            case "retry":
                return validate(Retry(self.error, self.after, self.counted, self.kind or "retry", self.traceback))
            case "move":
                return validate(Move(self.gate, self.data, self.after, self.until))
            case "fail":
                return validate(Fail(self.error, self.kind or "fail", self.traceback))


def _seconds(after: Duration | None) -> float | None:
    return None if after is None else milliseconds(after) / 1_000


class Verdict(StrEnum):
    """What a settlement did to one item."""

    DONE = "done"
    RETRIED = "retried"
    MOVED = "moved"
    FAILED = "failed"
    GONE = "gone"
    """The item was removed or changed while it was claimed: nothing was written for it."""


def verdict_of(outcome: Outcome) -> Verdict:
    """Return the verdict on an item whose outcome was written."""
    match outcome:
        case Done():
            return Verdict.DONE
        case Retry():
            return Verdict.RETRIED
        case Move():
            return Verdict.MOVED
        case Fail():
            return Verdict.FAILED


def all_plainly_done(outcomes: Iterable[Outcome]) -> bool:
    """Return whether all outcomes are Done without a result."""
    return all(type(outcome) is Done and outcome.result is None for outcome in outcomes)


def is_failure(outcome: Outcome) -> bool:
    """Return whether an outcome counts as a failed attempt."""
    return isinstance(outcome, Fail) or (isinstance(outcome, Retry) and outcome.counted)


def from_return_value(answer: Any) -> Outcome:
    """Read what a handler returned: an outcome, or None for Done."""
    if answer is None:
        return Done()
    if isinstance(answer, Outcome):
        return validate(answer)
    if hasattr(answer, "__await__"):
        getattr(answer, "close", lambda: None)()  # else Python warns that it was never awaited
        raise InvalidOutcome("a plain handler returned a coroutine", "make the handler an async def that awaits it")
    what = f"a handler must return an outcome or None, got {type(answer).__name__} {short_repr(answer)}"
    raise InvalidOutcome(what, "return None, Done(…), Retry(…), Move(…) or Fail(…); a result is Done(result)")


def validate(outcome: Outcome) -> Outcome:
    """Check an outcome; an exception that is given as its error becomes its text."""
    if isinstance(outcome, Retry | Fail):
        given: Any = outcome.error
        if isinstance(given, BaseException):
            outcome = msgspec.structs.replace(
                outcome, error=error_text(given), kind=type(given).__name__, traceback=traceback_text(given)
            )
        texts = (outcome.error, outcome.kind, outcome.traceback or "")
        if not all(isinstance(text, str) for text in texts):
            what = "the error, kind and traceback of an outcome must be text"
            raise InvalidOutcome(f"{what}, got {outcome.error!r:.80}", "describe what went wrong")
    if isinstance(outcome, Move):
        gate: Any = outcome.gate
        if isinstance(gate, bool) or not (
            gate is None or isinstance(gate, str) or (isinstance(gate, int) and gate in GATES)
        ):
            raise InvalidOutcome(f"gate must be a whole number from 0, or a name, got {gate!r}")
        if outcome.until is not None and (not isinstance(outcome.until, str) or outcome.after is not None):
            raise InvalidOutcome("until must be the name of a list, given without after", "give until or after")
        if outcome.until is not None:
            check_name(outcome.until)
    return outcome


def from_exception(error: BaseException) -> Retry:
    """Make a Retry of what a handler raised: one failed attempt."""
    return Retry(error=error_text(error), kind=type(error).__name__, traceback=traceback_text(error))


def error_text(error: BaseException) -> str:
    """Return the text of an exception; the name of its class if it has none, or str() fails."""
    try:
        return str(error) or type(error).__name__
    except Exception:  # an exception of somebody else's may do anything
        return type(error).__name__


def traceback_text(error: BaseException) -> str | None:
    """Return where an exception was raised, from the user's first frame on; None if that is nowhere, or unknown."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__", "").startswith("rowlock."):
        frames = frames.tb_next
    if frames is None and (error.__traceback__ is None or isinstance(error, RowlockError)):
        return None
    from traceback import format_exception  # only handlers that raise need it

    try:
        parts = format_exception(type(error), error, frames or error.__traceback__, limit=-MAX_TRACEBACK_FRAMES)
    except Exception:  # an exception of somebody else's may do anything
        return None
    text = "".join(map(_shortened, parts)).rstrip("\n")
    return text if len(text) <= MAX_TRACEBACK_CHARACTERS else f"…{text[1 - MAX_TRACEBACK_CHARACTERS :]}"


def _shortened(part: str) -> str:
    return part if len(part) <= MAX_TRACEBACK_PART_CHARACTERS else f"{part[:MAX_TRACEBACK_PART_CHARACTERS]}…\n"
