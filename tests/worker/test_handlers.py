"""Handlers of one item: functions in threads, coroutines on a loop, functions in processes."""

import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.waiting import WAIT_SECONDS
from tests.worker.running import eventually, running, said, sound, work_off

from rowlock import Counts, Done, Engine, Fail, Invalid, Item, Move, Progress, Retry, Turn, Worker


def test_a_plain_function_is_called_for_each_item(engine: Engine) -> None:
    engine["work"].add(["a", "b", "c"])
    seen: list[str] = []
    worker = Worker(engine)
    worker.on("work", lambda item: seen.append(item.key))
    work_off(worker)
    assert (sorted(seen), engine["work"].progress()) == (["a", "b", "c"], Progress(added=3, done=3))
    assert sound(engine)


def test_a_coroutine_is_run_for_each_item(engine: Engine) -> None:
    engine["work"].add(f"{number}" for number in range(50))
    seen: list[str] = []
    worker = Worker(engine)

    @worker.on("work")
    async def handle(item: Item) -> None:
        await asyncio.sleep(0)
        seen.append(item.key)

    work_off(worker)
    assert (len(seen), engine["work"].progress().done) == (50, 50)
    assert sound(engine)


def where(item: Item) -> Retry | None:
    return Retry("here", after=3600) if os.getpid() == item.data else None


def test_a_handler_may_run_in_a_process_of_its_own(engine: Engine) -> None:
    engine["work"].add(["a", "b"], data=os.getpid())
    worker = Worker(engine, concurrency=2)
    worker.on("work", where, processes=True)
    work_off(worker)
    assert engine["work"].progress() == Progress(added=2, done=2)


def leave(_: Item) -> None:
    os._exit(7)


def test_a_process_that_dies_of_an_item_is_replaced_and_the_item_retried(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine, concurrency=1)
    worker.on("work", leave, processes=True, attempts=2, backoff="1ms")
    work_off(worker)
    assert (engine["work"].counts(), said(engine, "a")) == (
        Counts(failed=1),
        ("process died", "the handler's process died (exit 7)"),
    )


def test_a_function_that_no_process_can_be_given_is_a_failure_of_the_item(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine, concurrency=1)
    worker.on("work", lambda _: None, processes=True, attempts=1)
    work_off(worker)
    assert engine["work"].counts() == Counts(failed=1)


@pytest.mark.parametrize(
    ("outcome", "counts"),
    [
        (None, Counts()),
        (Done(), Counts()),
        (Retry("no", after=3600), Counts(delayed=1)),
        (Move(3), Counts(gated=1)),
        (Fail("no"), Counts(failed=1)),
    ],
    ids=["None", "Done", "Retry", "Move", "Fail"],
)
def test_what_a_handler_returns_is_what_becomes_of_the_item(engine: Engine, outcome: Any, counts: Counts) -> None:
    engine["work"].settings(manual=True)
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", lambda _: outcome)
    worker.run(until="idle", signals=False)
    assert (engine["work"].counts(), sound(engine)) == (counts, True)


@pytest.mark.parametrize("answer", [0, "done", True, {}, [Done()], Done], ids=repr)
def test_nonsense_is_a_failed_attempt_that_says_so(engine: Engine, answer: Any) -> None:
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", lambda _: answer, attempts=1)
    work_off(worker)
    kind, message = said(engine, "a")
    assert (kind, "must return an outcome" in message, engine["work"].counts()) == (
        "InvalidOutcome",
        True,
        Counts(failed=1),
    )


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(3), TimeoutError("mine"), StopIteration()], ids=repr)
@pytest.mark.parametrize("kind", ["plain", "async", "batch"])
def test_whatever_a_handler_raises_is_a_failed_attempt(engine: Engine, kind: str, error: BaseException) -> None:
    engine["work"].add("a")
    engine["other"].add("b")
    worker = Worker(engine, concurrency=1)

    def plain(_: Any) -> None:
        raise error

    async def coroutine(_: Item) -> None:
        raise error

    worker.on("work", coroutine if kind == "async" else plain, attempts=1, batch=5 if kind == "batch" else None)
    worker.on("other", lambda _: None)
    work_off(worker)
    assert (engine["work"].counts(), engine["other"].counts()) == (Counts(failed=1), Counts())
    assert said(engine, "a")[0] in (type(error).__name__, "RuntimeError")


def test_a_coroutine_that_is_cancelled_from_within_is_a_failed_attempt(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine)

    @worker.on("work", attempts=1)
    async def handle(_: Item) -> None:
        raise asyncio.CancelledError

    work_off(worker)
    assert engine["work"].counts() == Counts(failed=1)


def test_an_error_whose_text_no_database_can_keep_is_kept_as_far_as_it_can_be(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", lambda _: (_ for _ in ()).throw(ValueError("a\0\ud800b")), attempts=1)
    work_off(worker)
    assert said(engine, "a") == ("ValueError", "a\N{REPLACEMENT CHARACTER}?b")


def test_a_move_to_a_passed_gate_fails_the_item_and_spares_the_others(engine: Engine) -> None:
    engine["work"].add(["a", "b", "c"])
    with engine.transaction() as tx:
        tx.execute("update rowlock_lists set gate = 2")
        tx.execute("update rowlock_items set gate = 2")
        tx.execute("update rowlock_tallies set gate = 2")
    worker = Worker(engine)
    worker.on("work", lambda item: Move(1) if item.key == "b" else None)
    work_off(worker)
    assert (engine["work"].counts(), said(engine, "b")[0]) == (Counts(failed=1), "gate-passed")


@pytest.mark.parametrize("outcome", [Move(1, data=object()), Move(1, data="x" * 300_000), Retry("no", after="soon")])
def test_an_outcome_that_cannot_be_written_fails_the_item_and_spares_the_others(engine: Engine, outcome: Any) -> None:
    engine["work"].add(["a", "b", "c"])
    worker = Worker(engine)
    worker.on("work", lambda item: outcome if item.key == "b" else None)
    work_off(worker)
    assert (engine["work"].counts(), said(engine, "b")[0].startswith("invalid")) == (Counts(failed=1), True)


def test_results_are_kept_where_the_list_keeps_them(engine: Engine) -> None:
    engine["work"].add(["a", "b"])
    engine["work"].settings(keep_results=True)
    worker = Worker(engine)
    worker.on("work", lambda item: Done({"key": item.key}))
    work_off(worker)
    with engine.transaction() as tx:
        rows = tx.execute("select key, data from rowlock_results order by key").fetchall()
    assert [tuple(row) for row in rows] == [("a", '{"key":"a"}'), ("b", '{"key":"b"}')]


def test_a_handler_that_overstays_frees_its_slot(engine: Engine) -> None:
    engine["slow"].add("stuck")
    release = threading.Event()
    worker = Worker(engine, concurrency=1)
    worker.on("work", lambda _: None)

    @worker.on("slow", attempts=1, timeout="50ms")
    def handle(_: Item) -> None:
        engine["work"].add(["a", "b"])
        release.wait(WAIT_SECONDS)

    work_off(worker)
    release.set()
    assert (engine["work"].progress().done, said(engine, "stuck", "slow")) == (2, ("timeout", "timed out after 0.05s"))


def test_a_coroutine_that_overstays_is_cancelled(engine: Engine) -> None:
    engine["work"].add("stuck")
    cancelled: list[str] = []
    worker = Worker(engine, concurrency=1)

    @worker.on("work", attempts=1, timeout="50ms")
    async def handle(item: Item) -> None:
        try:
            await asyncio.sleep(WAIT_SECONDS)
        except asyncio.CancelledError:
            cancelled.append(item.key)
            raise

    work_off(worker)
    assert (engine["work"].counts(), cancelled, said(engine, "stuck")[0]) == (Counts(failed=1), ["stuck"], "timeout")


def stuck(item: Item) -> None:
    Path(item.data).write_text(str(os.getpid()))
    time.sleep(WAIT_SECONDS)


def test_a_process_that_overstays_is_ended(engine: Engine, tmp_path: Path) -> None:
    noted = tmp_path / "process"
    engine["work"].add("stuck", data=str(noted))
    worker = Worker(engine, concurrency=1)
    worker.on("work", stuck, attempts=1, timeout="2s", processes=True)
    work_off(worker)
    assert (engine["work"].counts(), said(engine, "stuck")[0]) == (Counts(failed=1), "timeout")
    assert eventually(lambda: not noted.exists() or not psutil.pid_exists(int(noted.read_text())))


def test_a_batch_that_overstays_is_told_and_what_it_wrote_does_not_stay(engine: Engine) -> None:
    engine["work"].add(["a", "b"])
    told = threading.Event()
    release = threading.Event()
    worker = Worker(engine)

    @worker.on("work", attempts=1, timeout="50ms", batch=10)
    def handle(items: list[Item]) -> None:
        release.wait(WAIT_SECONDS)
        told.set()

    work_off(worker)
    release.set()
    assert told.wait(WAIT_SECONDS)
    assert (engine["work"].counts(), engine["work"].progress().done) == (Counts(failed=2), 0)


def test_a_handler_may_ask_for_its_turn(engine: Engine) -> None:
    engine["work"].add("a")
    turns: list[tuple[bool, bool]] = []
    worker = Worker(engine)

    @worker.on("work")
    def handle(item: Item, turn: Turn) -> None:
        turns.append((turn.token == item.token, turn.cancelled.is_set()))

    work_off(worker)
    assert turns == [(True, False)]


def test_hooks_hear_of_each_settled_item(engine: Engine) -> None:
    engine["work"].add(["a", "b"])
    heard: list[tuple[str, str]] = []
    failed: list[str] = []
    worker = Worker(engine)
    worker.after(lambda item, _, verdict: heard.append((item.key, str(verdict))))
    worker.on_failed(lambda item, *_: failed.append(item.key))
    worker.on("work", lambda item: Fail("bad") if item.key == "b" else None)
    work_off(worker)
    assert (sorted(heard), failed) == ([("a", "done"), ("b", "failed")], ["b"])


@pytest.mark.parametrize("options", [{}, {"batch": 2}], ids=["plain", "batch"])
def test_a_hook_hears_of_each_item_before_its_handler_does(engine: Engine, options: dict[str, int]) -> None:
    engine["work"].add(["a", "b"])
    heard: list[str] = []
    worker = Worker(engine, concurrency=1)
    worker.before(lambda item: heard.append(item.key))
    worker.on("work", lambda _: heard.append("handler"), **options)
    work_off(worker)
    assert (heard[0], sorted(heard)[:2]) == ("a", ["a", "b"])


def test_a_hook_that_raises_stops_nobody(engine: Engine) -> None:
    engine["work"].add(["a", "b"])
    worker = Worker(engine)
    worker.after(lambda *_: sys.intern(3))  # type: ignore[arg-type]
    worker.on("work", lambda _: None)
    work_off(worker)
    assert engine["work"].counts() == Counts()


@pytest.mark.parametrize(
    "options",
    [
        {"batch": 0},
        {"batch": 10_001},
        {"attempts": -1},
        {"attempts": True},
        {"batch": 5, "processes": True},
        {"backoff": "9s..1s"},
    ],
    ids=repr,
)
def test_a_handler_that_cannot_work_is_refused_at_once(engine: Engine, options: Any) -> None:
    with pytest.raises(Invalid):
        Worker(engine).on("work", lambda _: None, **options)


def test_a_worker_without_handlers_does_not_start(engine: Engine) -> None:
    with pytest.raises(Invalid, match="no handlers"):
        Worker(engine).run(signals=False)


def test_a_pattern_stands_for_many_lists(engine: Engine) -> None:
    engine["resumes/1"].add("a")
    engine["resumes/2"].add("b")
    engine["other"].add("c")
    worker = Worker(engine)
    worker.on("resumes/*", lambda _: None)
    work_off(worker)
    assert {info.name: info.counts.total for info in engine.lists()} == {"other": 1, "resumes/1": 0, "resumes/2": 0}


def test_items_added_while_it_runs_are_worked(engine: Engine) -> None:
    worker = Worker(engine)
    worker.on("work", lambda _: None)
    with running(worker):
        engine["work"].add("first")
        assert eventually(lambda: engine["work"].progress().done == 1)
        engine["work"].add("second")
        assert eventually(lambda: engine["work"].progress().done == 2)


class Mute(Exception):
    """Says nothing, and fails at that."""

    def __str__(self) -> str:
        raise ValueError("mute")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), BaseException("own"), Mute()], ids=type)
@pytest.mark.parametrize("options", [{}, {"batch": 5}], ids=["plain", "batch"])
def test_whatever_a_handler_raises_is_an_outcome(engine: Engine, error: BaseException, options: dict[str, int]) -> None:
    engine["work"].add("a")

    def handle(_: object) -> None:
        raise error

    worker = Worker(engine)
    worker.on("work", handle, attempts=1, **options)
    work_off(worker)
    assert said(engine, "a")[0] == type(error).__name__


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Fail(ValueError("x")), "ValueError"),
        (Fail(5), "InvalidOutcome"),
        (Fail("x", kind=None), "InvalidOutcome"),
        (Fail("x", kind="a\0b"), "a\ufffdb"),
        (Move(gate="first"), "invalid"),
        (Move(until="work"), "invalid-outcome"),
        (Move(until="nothing", after=1), "InvalidOutcome"),
        (Move(gate=2**70), "InvalidOutcome"),
        (Move(gate=True), "InvalidOutcome"),
    ],
)
def test_an_outcome_with_a_wrong_field_fails_its_item_and_says_why(engine: Engine, outcome: Any, kind: str) -> None:
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", lambda _: outcome, attempts=1)
    work_off(worker)
    assert said(engine, "a")[0] == kind
