"""Outcomes: what a handler may return, how it is written as JSON, and what is kept of an exception."""

import inspect
import sys
from types import FunctionType, TracebackType
from typing import Any

import pytest

from rowlock import Done, Fail, Move, Retry
from rowlock.errors import Invalid, InvalidOutcome
from rowlock.outcomes import (
    MAX_TRACEBACK_CHARACTERS,
    MAX_TRACEBACK_FRAMES,
    MAX_TRACEBACK_PART_CHARACTERS,
    Outcome,
    PositionedOutcome,
    from_exception,
    from_return_value,
    is_failure,
    traceback_text,
    validate,
)
from rowlock.receipts import digest


def broken() -> None:
    raise ValueError("no answer")


def refused() -> None:
    raise Invalid("no such item", "look again")


def deep(left: int) -> None:
    """Raise below so many frames."""
    if left == 0:
        broken()
    deep(left - 1)


def caught(function: Any) -> BaseException:
    """Return what a function raises, without what this thread was handling before."""
    before = sys.exc_info()[1]
    try:
        function()
    except Exception as error:
        last: BaseException = error
        while last.__context__ is not None and last.__context__ is not before:
            last = last.__context__
        last.__context__ = None
        return error
    raise AssertionError


def inside(function: Any) -> Any:
    """The same function as if it stood in a module of rowlock."""
    return FunctionType(function.__code__, {**globals(), "__name__": "rowlock.worker.somewhere"})


def frames(error: BaseException) -> list[str]:
    """The functions that a text names."""
    lines = (traceback_text(error) or "").splitlines()
    return [line.rpartition(" in ")[2] for line in lines if line.startswith("  File ")]


def test_a_traceback_begins_with_the_first_frame_outside_of_rowlock() -> None:
    assert frames(inside(caught)(broken)) == ["broken"]
    assert frames(caught(broken)) == ["caught", "broken"]
    assert frames(inside(caught)(refused)) == ["refused"]


def test_an_error_that_was_raised_by_rowlock_alone_has_a_traceback_only_if_it_is_unexpected() -> None:
    assert traceback_text(inside(caught)(inside(refused))) is None
    assert frames(inside(caught)(inside(broken))) == ["caught", "broken"]


def test_an_error_that_was_never_raised_has_no_traceback() -> None:
    assert (traceback_text(ValueError("no")), traceback_text(Invalid("no", "look"))) == (None, None)


def test_of_many_frames_the_last_are_kept() -> None:
    named = frames(caught(lambda: deep(3 * MAX_TRACEBACK_FRAMES)))
    assert (named[-1], "caught" in named) == ("broken", False)


def test_a_part_of_a_traceback_is_cut_where_it_is_longer_than_allowed() -> None:
    room = MAX_TRACEBACK_PART_CHARACTERS - len("ValueError: \n")
    texts = [traceback_text(raised(ValueError("x" * (room + more)))) or "" for more in (0, 1)]
    assert [text.endswith("x") for text in texts] == [True, False]
    assert texts[1].endswith("x…")


def raised(error: Exception) -> Exception:
    """An exception with a traceback of one frame."""
    frame = inspect.currentframe()
    assert frame is not None
    return error.with_traceback(TracebackType(None, frame, frame.f_lasti, frame.f_lineno))


def test_a_traceback_is_cut_at_its_beginning_where_it_is_longer_than_allowed() -> None:
    def text(last: int) -> str:
        error = raised(ValueError("x"))
        for length in (800, 800, 800, 800, last):
            error.add_note("n" * length)
        return traceback_text(error) or ""

    fits = MAX_TRACEBACK_CHARACTERS - len(text(1)) + 1
    assert (len(text(fits)), text(fits)[0]) == (MAX_TRACEBACK_CHARACTERS, "T")
    assert (len(text(fits + 1)), text(fits + 1)[0]) == (MAX_TRACEBACK_CHARACTERS, "…")


def test_an_exception_is_a_counted_retry_with_its_text() -> None:
    retry = from_exception(caught(broken))
    assert (retry.error, retry.kind, retry.counted) == ("no answer", "ValueError", True)
    assert "in broken" in (retry.traceback or "")


def test_an_exception_without_a_text_is_called_by_its_class() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert (from_exception(KeyError()).error, from_exception(Mute()).error) == ("KeyError", "Mute")


def test_an_exception_that_is_given_as_an_error_becomes_its_text() -> None:
    given: Any = caught(broken)
    fail = validate(Fail(given))
    assert isinstance(fail, Fail)
    assert (fail.error, fail.kind) == ("no answer", "ValueError")
    assert "in broken" in (fail.traceback or "")


@pytest.mark.parametrize(
    "outcome",
    [Retry(7), Retry("no", kind=7), Fail("no", traceback=7), Retry(None)],  # type: ignore[arg-type]
    ids=repr,
)
def test_what_is_said_of_a_failure_must_be_text(outcome: Outcome) -> None:
    with pytest.raises(InvalidOutcome, match="must be text"):
        validate(outcome)


@pytest.mark.parametrize("gate", [-1, True, False, 1.5, 2**31, [1]])
def test_a_gate_that_cannot_be_is_refused(gate: Any) -> None:
    with pytest.raises(InvalidOutcome, match="gate must be a whole number from 0, or a name"):
        validate(Move(gate))


@pytest.mark.parametrize("move", [Move(7, until=1), Move(until="other", after=5), Move(until="")])  # type: ignore[arg-type]
def test_a_move_that_cannot_wait_is_refused(move: Move) -> None:
    with pytest.raises(Invalid):
        validate(move)


@pytest.mark.parametrize("move", [Move(), Move(0), Move("notify"), Move(after=5), Move(2, until="other")], ids=repr)
def test_a_move_that_can_be_is_left_as_it_is(move: Move) -> None:
    assert validate(move) == from_return_value(move) == move


def test_a_coroutine_of_a_plain_handler_is_refused_and_closed() -> None:
    async def handle() -> None: ...

    answer = handle()
    with pytest.raises(InvalidOutcome, match="returned a coroutine"):
        from_return_value(answer)
    assert inspect.getcoroutinestate(answer) == inspect.CORO_CLOSED


@pytest.mark.parametrize(
    ("outcome", "fails"),
    [
        (Done(), False),
        (Move(1), False),
        (Fail("bad"), True),
        (Retry("no"), True),
        (Retry("not now", counted=False), False),
    ],
)
def test_a_failure_and_a_counted_retry_are_failed_attempts(outcome: Outcome, fails: bool) -> None:
    assert is_failure(outcome) is fails


@pytest.mark.parametrize(
    ("outcome", "written"),
    [
        (Done({"size": 3}), PositionedOutcome(7, "done", {"size": 3})),
        (Retry("no"), PositionedOutcome(7, "retry", error="no", kind="retry")),
        (Retry("no", "1500ms", False, "Busy"), PositionedOutcome(7, "retry", None, "no", "Busy", 1.5, False)),
        (Move("notify", 1), PositionedOutcome(7, "move", gate="notify", data=1)),
        (Move(after=2, until=None), PositionedOutcome(7, "move", after=2.0)),
        (Fail("bad", "Worse", "here"), PositionedOutcome(7, "fail", error="bad", kind="Worse", traceback="here")),
    ],
)
def test_an_outcome_is_written_with_its_position(outcome: Outcome, written: PositionedOutcome) -> None:
    assert PositionedOutcome.of(7, outcome) == written


@pytest.mark.parametrize(
    "outcome",
    [Done(1), Retry("no", 1.5, False, "Busy", "here"), Move(2, {"n": 1}), Move("notify", until="other"), Fail("bad")],
)
def test_an_outcome_is_read_as_it_was_written(outcome: Outcome) -> None:
    assert PositionedOutcome.of(7, outcome).read() == outcome


@pytest.mark.parametrize(
    ("written", "outcome"),
    [
        (PositionedOutcome(7, "retry", error="no"), Retry("no")),
        (PositionedOutcome(7, "fail", error="bad"), Fail("bad")),
        (PositionedOutcome(7), Done()),
    ],
)
def test_what_is_left_out_of_an_outcome_has_its_default(written: PositionedOutcome, outcome: Outcome) -> None:
    assert written.read() == outcome


def test_a_settlement_is_told_from_another_one_of_the_same_items() -> None:
    first = digest([(1, Done()), (2, Fail("bad"))])
    others = [
        digest([(1, Done()), (2, Retry("bad"))]),
        digest([(1, Done()), (2, Done("result"))]),
        digest([(1, Done()), (2, Done())]),
    ]
    assert len({first, *others}) == 4
