"""Groups on connections that break, in processes that are killed or forked: whoever has an answer can rely on it."""

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from itertools import count

import pytest
from tests.races.faults import Faulty, Once, raising
from tests.races.killing import until
from tests.races.test_forks import in_children
from tests.verbs.group_commits import add, held, increment, together
from tests.waiting import WAIT_SECONDS

from rowlock import Added, Engine
from rowlock.db.driver import ConnectionLost, RetryTransaction
from rowlock.diagnostics import broken_rules
from rowlock.environment import Environment
from rowlock.errors import DatabaseBusy, DatabaseFull, DatabaseUnreachable, OutcomeUnknown

BUSY = DatabaseBusy("too many writers", "try again")
GONE = DatabaseUnreachable("the connection was lost", "check it")
UNKNOWN = OutcomeUnknown("broke at commit", "look before you ask again")


STILL = Environment(monotonic=lambda: 0.0)
"""A group is as large as it is, however long its transaction takes."""


def faulty(url: str, *, environment: Environment = STILL, **arranged: object) -> Engine:
    with Engine(url) as engine:
        engine["work"].add(["a", "b"])
    engine = Engine(url, environment=environment, wrap=partial(Faulty, **arranged))
    engine.make_ready()
    return engine


def test_a_group_that_met_a_conflict_is_run_again_whole(url: str) -> None:
    with faulty(url, before_commit=Once(raising(RetryTransaction(BUSY)), at=2)) as engine:
        assert together(engine, add("c"), increment("a"), increment("a")) == [Added(1, 0), 1, 1]
        assert [item.attempts for item in engine["work"]] == [2, 0, 0]


def test_a_group_whose_connection_was_lost_is_run_again_whole(url: str) -> None:
    with faulty(url, before_change=Once(raising(ConnectionLost(GONE)), at=3)) as engine:
        assert together(engine, add("c"), increment("a"), increment("a")) == [Added(1, 0), 1, 1]
        assert [item.attempts for item in engine["work"]] == [2, 0, 0]


def test_an_unknown_outcome_is_told_to_each_of_the_group(url: str) -> None:
    with faulty(url, after_commit=Once(raising(UNKNOWN), at=2)) as engine:
        answers = together(engine, add("c"), increment("a"), increment("b"))
        assert [type(each) for each in answers] == [OutcomeUnknown] * 3
        assert len({id(each) for each in answers}) == 3
        assert [item.attempts for item in engine["work"]] == [1, 1, 0]
        assert together(engine, increment("a")) == [1]


def test_who_was_not_taken_on_has_another_turn(url: str) -> None:
    seconds = count()
    slow = Environment(monotonic=lambda: float(next(seconds)))
    with faulty(url, environment=slow, after_commit=Once(raising(UNKNOWN), at=2)) as engine:
        unknown, *others = together(engine, add("c"), increment("a"), increment("b"))
        assert (type(unknown), others) == (OutcomeUnknown, [1, 1])
        assert [item.attempts for item in engine["work"]] == [1, 1, 0]


def test_patience_ends_for_each_of_the_group(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add(["a", "b"])
    ticks = iter(range(10**9))
    environment = Environment(monotonic=lambda: float(next(ticks)), sleep=lambda _: None)
    conflict = dict.fromkeys(("before_autocommit", "before_commit"), lambda _: raising(RetryTransaction(BUSY))())
    always = partial(Faulty, **conflict)
    with Engine(url, wrap=always, environment=environment, patience=10) as engine:
        asked = [engine.grouped.ask(*add(key)) for key in "cde"]
        assert [type(future.exception()) for future in asked] == [DatabaseBusy] * 3


def test_a_disk_that_is_full_is_told_to_each_of_the_group(sqlite_url: str) -> None:
    full = DatabaseFull("no room is left", "free some space")
    with faulty(sqlite_url, before_commit=Once(raising(full), at=2)) as engine:
        answers = together(engine, add("c"), increment("a"))
        assert [type(each) for each in answers] == [DatabaseFull] * 2
        assert [(item.key, item.attempts) for item in engine["work"]] == [("a", 0), ("b", 0)]


def test_a_transaction_that_is_gone_takes_nobody_else_with_it(sqlite_url: str) -> None:
    """SQLite ends a transaction by itself at some errors; who was not taken on yet has one of their own."""
    with faulty(sqlite_url) as engine:
        gone = (lambda tx: [tx.execute("rollback"), tx.rows("no such/statement")],)
        answers = together(engine, add("c"), gone, increment("a"), increment("b"))
        assert (answers[0], type(answers[1]), answers[2:]) == (Added(1, 0), FileNotFoundError, [1, 1])
        assert [(item.key, item.attempts) for item in engine["work"]] == [("a", 1), ("b", 1), ("c", 0)]


@pytest.mark.parametrize("dialect", ["postgres", "cockroach"])
def test_whoever_stands_before_a_lock_stands_there_alone(engine: Engine) -> None:
    engine["work"].add("there")
    with engine.transaction() as tx:
        tx["work"].add("locked")
        with held(engine):
            stuck = engine.grouped.ask(*add("locked"))
            others = [engine.grouped.ask(*each) for each in (add("free"), increment("there"), add("a", to="other"))]
        assert [each.result(WAIT_SECONDS) for each in others] == [Added(1, 0), 1, Added(1, 0)]
        assert engine.grouped["work"].add("free too") == Added(1, 0)
        assert not stuck.done()
    assert stuck.result(WAIT_SECONDS) == Added(0, 1)


@pytest.mark.parametrize("dialect", ["postgres"])
def test_a_call_that_is_alone_before_a_lock_holds_up_nobody(engine: Engine) -> None:
    engine["work"].add("there")
    with engine.transaction() as tx:
        tx["work"].increment("there")
        stuck = engine.grouped.ask(*increment("there"))
        assert engine.grouped["work"].add("free") == Added(1, 0)
        assert not stuck.done()
    assert stuck.result(WAIT_SECONDS) == 1
    assert engine["work"].show("there").attempts == 2


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_a_child_of_a_fork_has_a_writer_of_its_own(url: str) -> None:
    with Engine(url) as engine:
        engine.grouped["work"].add("parent")
        ended = in_children(2, lambda child: [engine.grouped["work"].add(f"{child}-{each}") for each in range(20)])
        assert (ended, engine.grouped["work"].counts().ready) == ([0, 0], 41)


@pytest.mark.parametrize("dialect", ["postgres"])
def test_a_child_of_a_fork_does_not_do_what_its_parent_was_asked(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add("there")
        with held(engine):
            asked = engine.grouped.ask(*increment("there"))
            ended = in_children(1, lambda _: engine.grouped["work"].add("child"))
        assert (ended, asked.result(), engine["work"].show("there").attempts) == ([0], 1, 1)


ADDER = r"""
import ctypes, os, sys, threading
ctypes.CDLL(None).prctl(1, 9)
from rowlock import Engine
url, number = sys.argv[1], sys.argv[2]
engine = Engine(url)
def work(thread):
    for each in range(100_000):
        key = f"{number}-{thread}-{each}"
        engine.grouped["work"].add(key)
        os.write(1, f"{key}\n".encode())
for thread in range(8):
    threading.Thread(target=work, args=(thread,)).start()
"""
ANSWERS = 400


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_what_was_answered_is_there_when_the_process_has_been_killed(url: str) -> None:
    with Engine(url) as engine:
        engine.make_ready()
        answered = [key for number in range(3) for key in killed_after(url, str(number))]
        there = {item.key for item in engine["work"]}
        assert len(answered) >= 3 * ANSWERS
        assert [key for key in answered if key not in there] == []
        assert engine.read(broken_rules) == []


def killed_after(url: str, number: str) -> list[str]:
    """The keys that a process said were added, until it was killed."""
    process = subprocess.Popen([sys.executable, "-c", ADDER, url, number], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as lines:
        answered = [next(lines) for _ in range(ANSWERS)]
        os.kill(process.pid, signal.SIGKILL)
        answered += list(lines)
    process.wait()
    return [line.strip() for line in answered if line.endswith("\n")]


def test_whoever_is_interrupted_while_waiting_wants_it_no_more(engine: Engine) -> None:
    with held(engine):
        threading.Thread(target=interrupt_when_waiting, args=(engine,)).start()
        with pytest.raises(KeyboardInterrupt):
            engine.grouped["work"].add("a")
        kept = engine.grouped.ask(*add("b"))
    assert kept.result() == Added(1, 0)
    assert [item.key for item in engine["work"]] == ["b"]


def interrupt_when_waiting(engine: Engine) -> None:
    until(lambda: engine.grouped._group_commit._writer.get()._waiting)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
