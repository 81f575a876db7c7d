"""How an item's turn ends: done, retry, move or fail. A handler's answer is read into one of these in one place."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal

import msgspec

from rowlock.durations import Duration, milliseconds
from rowlock.errors import InvalidOutcome
from rowlock.model import GATES
from rowlock.names import check_name

UNCHANGED = msgspec.UNSET


class Done(msgspec.Struct, frozen=True, tag="done"):
    """It succeeded: gone from the list; `result` is kept where the list keeps results."""

    result: Any = None


class Retry(msgspec.Struct, frozen=True, tag="retry"):
    """It failed and shall be tried again, `after` a while; when the attempts are used up it is failed."""

    error: str = ""
    after: Duration | None = None
    counted: bool = True
    """Whether this was a failed attempt; if not, it was only too early."""
    kind: str = "retry"


class Move(msgspec.Struct, frozen=True, tag="move"):
    """On to another gate, or back in line at this one, with new data; what is left out stays as it is."""

    gate: int | str | None = None
    """By number, or by the name that the list gives it."""
    data: Any = UNCHANGED
    after: Duration | None = None
    until: str | None = None
    """The name of a list: the item waits until that list is complete."""


class Fail(msgspec.Struct, frozen=True, tag="fail"):
    """It gave up: kept until somebody retries or abandons it."""

    error: str = ""
    kind: str = "fail"


Outcome = Done | Retry | Move | Fail


class PositionedOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The outcome of the item at a position, as it travels: its kind in small letters, and what its fields say."""

    position: int
    outcome: Literal["done", "retry", "move", "fail"] = "done"
    result: Any = None
    """What a done item leaves behind, where the list keeps results."""
    error: str = ""
    kind: str | None = None
    after: float | None = None
    """Seconds to wait."""
    counted: bool = True
    """Whether a retry was a failed attempt, and not only too early."""
    gate: int | str | None = None
    data: Any = UNCHANGED
    until: str | None = None
    """The list that a move waits for."""

    @classmethod
    def of(cls, position: int, outcome: Outcome) -> "PositionedOutcome":
        """The outcome, ready to travel."""
        match outcome:
            case Done(result):
                return cls(position, "done", result)
            case Retry(error, after, counted, kind):
                return cls(position, "retry", error=error, kind=kind, after=_seconds(after), counted=counted)
            case Move(gate, data, after, until):
                return cls(position, "move", gate=gate, data=data, after=_seconds(after), until=until)
            case Fail(error, kind):
                return cls(position, "fail", error=error, kind=kind)

    def read(self) -> Outcome:
        """The outcome that has arrived, if it can be one."""
        match self.outcome:
            case "done":
                return Done(self.result)
            case "retry":
                return validate(Retry(self.error, self.after, self.counted, self.kind or "retry"))
            case "move":
                return validate(Move(self.gate, self.data, self.after, self.until))
            case "fail":
                return validate(Fail(self.error, self.kind or "fail"))


def _seconds(after: Duration | None) -> float | None:
    return None if after is None else milliseconds(after) / 1_000


class Verdict(StrEnum):
    """What became of a settlement, item by item."""

    DONE = "done"
    RETRIED = "retried"
    MOVED = "moved"
    FAILED = "failed"
    GONE = "gone"
    """Somebody abandoned or changed the item meanwhile: nothing was written for it."""


def verdict_of(outcome: Outcome) -> Verdict:
    """The verdict on an item for which this was written."""
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
    """Whether all are done, and nothing was said of how."""
    return all(type(outcome) is Done and outcome.result is None for outcome in outcomes)


def from_return_value(answer: Any) -> Outcome:
    """What a handler returned, as an outcome; None is Done, anything else is no answer."""
    if answer is None:
        return Done()
    if isinstance(answer, Outcome):
        return validate(answer)
    what = f"the handler returned {type(answer).__name__}, which is no outcome"
    raise InvalidOutcome(what, "return None, Done(…), Retry(…), Move(…) or Fail(…)")


def validate(outcome: Outcome) -> Outcome:
    """The outcome, if it can be written; an exception given as its error becomes what it says."""
    if isinstance(outcome, Retry | Fail):
        given: Any = outcome.error
        if isinstance(given, BaseException):
            outcome = msgspec.structs.replace(outcome, error=error_text(given), kind=type(given).__name__)
        if not isinstance(outcome.error, str) or not isinstance(outcome.kind, str):
            raise InvalidOutcome("an outcome's error and kind are text", "say in words what went wrong")
    if isinstance(outcome, Move):
        gate: Any = outcome.gate
        if isinstance(gate, bool) or not (
            gate is None or isinstance(gate, str) or (isinstance(gate, int) and gate in GATES)
        ):
            raise InvalidOutcome(f"an item cannot move to gate {gate!r}", "a gate is a whole number from 0, or a name")
        if outcome.until is not None and (not isinstance(outcome.until, str) or outcome.after is not None):
            raise InvalidOutcome("a move waits until a list is complete, or for a while", "give until or after")
        if outcome.until is not None:
            check_name(outcome.until)
    return outcome


def from_exception(error: BaseException) -> Retry:
    """What a handler raised, as an outcome: one failed attempt, with what was said."""
    return Retry(error=error_text(error), kind=type(error).__name__)


def error_text(error: BaseException) -> str:
    """What an exception says; its name if it says nothing, or cannot even do that."""
    try:
        return str(error) or type(error).__name__
    except Exception:  # an exception of somebody else's may do anything
        return type(error).__name__
