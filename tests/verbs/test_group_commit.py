"""Many callers, one transaction: each has the answer that it would have had alone."""

import asyncio
import random
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from tests.races.faults import Faulty
from tests.verbs.group_commits import Asked, Commits, add, done, held, increment, together
from tests.waiting import WAIT_SECONDS

from rowlock import Added, Engine, Invalid, Refused, Unavailable, claims, item_input, items, settlements
from rowlock.claims import ClaimRequest
from rowlock.db import Tx
from rowlock.environment import Environment
from rowlock.errors import AlreadyThere, GatePassed, InvalidKey, InvalidTransaction, StaleClaim
from rowlock.group_commit import GroupKey, groupable
from rowlock.item_input import ItemDefaults
from rowlock.outcomes import Done, Verdict


def states(engine: Engine, name: str = "work") -> list[tuple[Any, ...]]:
    return [(item.key, item.attempts, item.gate, item.priority, item.data) for item in engine[name]]


def counting(url: str, commits: Commits) -> Engine:
    engine = Engine(url, wrap=partial(Faulty, after_commit=commits))
    engine["work"].add("there")
    commits.number = 0
    return engine


def test_what_waits_at_the_same_time_is_one_transaction(url: str) -> None:
    commits = Commits()
    with counting(url, commits) as engine:
        answers = together(engine, *(add(f"{number:02}") for number in range(50)))
        assert (answers, commits.number) == ([Added(1, 0)] * 50, 2)
        assert engine["work"].counts().ready == 51


def test_positions_follow_the_order_in_which_callers_came(engine: Engine) -> None:
    together(engine, *(add(key) for key in "cab"))
    line = sorted(engine["work"], key=lambda item: item.position)
    assert [item.key for item in line] == ["c", "a", "b"]


def test_of_callers_with_one_key_the_first_adds_it(engine: Engine) -> None:
    engine["work"].add("there")
    asked = [add("a", data=1), add("there", data=2), add("a", data=3), add("a", priority=0)]
    assert together(engine, *asked) == [Added(1, 0), Added(0, 1), Added(0, 1), Added(0, 1)]
    assert states(engine) == [("a", 0, 0, 5, 1), ("there", 0, 0, 5, None)]


def test_callers_may_differ_in_everything(timed: Engine) -> None:
    asked = [
        add("plain"),
        add("data", data={"size": [1, None]}),
        add("urgent", priority=0),
        add("gated", gate=2),
        add("delayed", due="5m"),
        add("moment", due=timed.database.read(lambda tx: tx.value("diagnostics/now")) / 1000 + 60),
        add("text", data='"quoted" \\u0000'),
    ]
    assert together(timed, *asked) == [Added(1, 0)] * 7
    found = {item.key: (item.state, item.priority, item.gate, item.data) for item in timed["work"]}
    assert found == {
        "plain": ("ready", 5, 0, None),
        "data": ("ready", 5, 0, {"size": [1, None]}),
        "urgent": ("ready", 0, 0, None),
        "gated": ("gated", 5, 2, None),
        "delayed": ("delayed", 5, 0, None),
        "moment": ("delayed", 5, 0, None),
        "text": ("ready", 5, 0, '"quoted" \\u0000'),
    }
    counts = timed["work"].counts()
    assert (counts.ready, counts.delayed, counts.gated) == (4, 2, 1)


def test_a_caller_may_add_several_keys(engine: Engine) -> None:
    several = items.add, "work", list(item_input.batches(["a", "b", "b", "c"], ItemDefaults()))
    assert together(engine, add("b"), several, add("c")) == [Added(1, 0), Added(2, 2), Added(0, 1)]


def test_each_mention_of_a_key_is_an_attempt(engine: Engine) -> None:
    engine["work"].add(["a", "b"])
    asked = [increment("a"), increment("a", "b"), increment("missing"), increment("a")]
    assert together(engine, *asked) == [1, 2, 0, 1]
    assert [item.attempts for item in engine["work"]] == [3, 1]
    assert engine["work"].progress().retried == 4


def test_an_item_is_done_once(engine: Engine) -> None:
    engine["work"].settings(keep_results=True)
    engine["work"].add(["a", "b"])
    assert together(engine, done("a"), done("b", "a"), done("missing"), done("a")) == [1, 1, 0, 0]
    assert (engine["work"].progress().done, len(engine["work"].results("a"))) == (2, 1)


def test_lists_do_not_mix(engine: Engine) -> None:
    assert together(engine, add("a", to="one"), add("a", to="two"), add("b", to="one")) == [Added(1, 0)] * 3
    assert [[item.key for item in engine[name]] for name in ("one", "two")] == [["a", "b"], ["a"]]


def test_a_group_answers_as_if_all_had_come_one_after_the_other(url: str, sqlite_url: str) -> None:
    chance = random.Random(7)
    with Engine(url) as grouped, Engine(f"{sqlite_url}.other") as alone:
        for _ in range(15):
            asked = [one_of_many(chance) for _ in range(chance.randrange(2, 30))]
            one_by_one = sorted(asked, key=lambda each: each[0].__name__)
            expected = {id(each): alone.run(*each) for each in one_by_one}
            assert together(grouped, *asked) == [expected[id(each)] for each in asked]
            assert states(grouped) == states(alone)
        assert grouped["work"].info().progress == alone["work"].info().progress


def one_of_many(chance: random.Random) -> Asked:
    keys = chance.sample("abcdef", chance.randrange(1, 4))
    verb = chance.choice([add, done, increment])
    return add(keys[0], data=chance.random()) if verb is add else verb(*keys)


def test_one_bad_call_among_many_good_ones_is_alone_with_it(engine: Engine) -> None:
    engine["work"].add(f"{number:02}" for number in range(50))
    asked = [done(f"{number:02}") for number in range(50)]
    asked[20] = done("bad\nkey")
    answers = together(engine, *asked)
    assert isinstance(answers[20], InvalidKey)
    assert answers[:20] + answers[21:] == [1] * 49
    assert [item.key for item in engine["work"]] == ["20"]


def test_a_gate_that_is_passed_refuses_its_caller_alone(engine: Engine) -> None:
    engine["work"].add("later", gate=3)
    with engine.transaction() as tx:
        tx.execute("update rowlock_lists set gate = 3")
    first, second, third = together(engine, add("a"), add("b", gate=1), add("c"))
    assert (first, type(second), third) == (Added(1, 0), GatePassed, Added(1, 0))
    assert [item.key for item in engine["work"]] == ["a", "c", "later"]


def write_and_fail(tx: Tx, error: Exception) -> None:
    items.add(tx, "work", list(item_input.batches("half done", ItemDefaults())))
    raise error


@pytest.mark.parametrize("error", [Refused("no", "never"), ValueError("a mistake"), Unavailable("not now")])
def test_what_a_refused_call_has_written_does_not_stay(engine: Engine, error: Exception) -> None:
    answers = together(engine, add("a"), (write_and_fail, error), add("b"), increment("a"))
    assert (answers[0], type(answers[1]), answers[2]) == (Added(1, 0), type(error), Added(1, 0))
    assert [item.key for item in engine["work"]] == ["a", "b"]


def test_a_refused_strict_add_takes_nobody_with_it(engine: Engine) -> None:
    with held(engine):
        asked = [engine.grouped.ask(*add("a"), strict=strict) for strict in (False, True, True, False)]
    refused = [isinstance(future.exception(), AlreadyThere) for future in asked]
    assert (refused, asked[0].result(), asked[3].result()) == ([False, True, True, False], Added(1, 0), Added(0, 1))
    assert [item.key for item in engine["work"]] == ["a"]


@pytest.mark.parametrize("dialect", ["postgres", "cockroach"])
def test_a_statement_that_breaks_the_transaction_breaks_its_own_call_only(engine: Engine) -> None:
    answers = together(engine, add("a"), (lambda tx: tx.execute("select 1 / 0"),), add("b"))
    assert (answers[0], answers[2]) == (Added(1, 0), Added(1, 0))
    assert isinstance(answers[1], Exception)
    assert [item.key for item in engine["work"]] == ["a", "b"]


def test_every_caller_has_an_error_of_its_own(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.transaction() as tx:
        sealed = "1" if engine.database.address.dialect == "sqlite" else "true"
        tx.execute(f"update rowlock_lists set sealed = {sealed}")
    first, second = together(engine, add("b"), add("c"))
    assert (type(first), type(second), first is second) == (type(second), type(first), False)
    assert isinstance(first, Refused)


def test_claims_of_one_group_are_of_different_items(engine: Engine) -> None:
    engine["work"].add(f"{number:02}" for number in range(10))
    with engine.session() as one, engine.session() as two:
        asked = [(claims.take, ClaimRequest(each.id, "work", 4, each.id[:8])) for each in (one, two)]
        first, second = together(engine, *asked)
        assert [item.key for item in first.items] == ["00", "01", "02", "03"]
        assert [item.key for item in second.items] == ["04", "05", "06", "07"]
        settling = [[(item.position, Done()) for item in taken.items] for taken in (first, second)]
        answers = together(
            engine,
            (settlements.settle, one.id, first.token, settling[0]),
            (settlements.settle, two.id, "gone", settling[1]),
            (settlements.settle, two.id, second.token, settling[1]),
        )
        assert (answers[0], type(answers[1]), answers[2]) == ([Verdict.DONE] * 4, StaleClaim, [Verdict.DONE] * 4)
    assert [item.key for item in engine["work"]] == ["08", "09"]


def test_a_cancelled_call_is_not_done(engine: Engine) -> None:
    with held(engine):
        kept, cancelled = engine.grouped.ask(*add("a")), engine.grouped.ask(*add("b"))
        assert cancelled.cancel()
    assert kept.result() == Added(1, 0)
    with pytest.raises(CancelledError):
        cancelled.result()
    assert [item.key for item in engine["work"]] == ["a"]


def test_coroutines_are_answered_each_by_itself(engine: Engine) -> None:
    async def add_all() -> list[Any]:
        asked = [engine.grouped.awaited(*add(f"{number % 40:02}")) for number in range(50)]
        asked.append(engine.grouped.awaited(*done("bad\nkey")))
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = asyncio.run(add_all())
    assert sum(each.added for each in answers[:50]) == 40
    assert isinstance(answers[50], InvalidKey)
    assert engine["work"].counts().ready == 40


def test_a_cancelled_coroutine_is_not_done(engine: Engine) -> None:
    async def cancel_one() -> Added:
        with held(engine):
            kept, cancelled = engine.grouped.awaited(*add("a")), engine.grouped.awaited(*add("b"))
            cancelled.cancel()
        return await kept

    assert asyncio.run(cancel_one()) == Added(1, 0)
    assert [item.key for item in engine["work"]] == ["a"]


def test_a_loop_that_has_ended_holds_nobody_up(engine: Engine) -> None:
    async def leave() -> None:
        engine.grouped.awaited(*add("a"))

    with held(engine):
        asyncio.run(leave())
    assert engine.grouped["work"].add("b") == Added(1, 0)


def test_closing_finishes_what_waits(url: str) -> None:
    engine = Engine(url)
    engine.make_ready()
    with held(engine):
        asked = [engine.grouped.ask(*add(f"{number}")) for number in range(5)]
        closing = threading.Thread(target=engine.grouped.close)
        closing.start()
    closing.join()
    assert [future.result() for future in asked] == [Added(1, 0)] * 5
    with pytest.raises(Unavailable, match="closed"):
        engine.grouped["work"].add("late")
    assert engine["work"].counts().ready == 5
    engine.close()


def test_a_writer_that_has_much_to_do_takes_it_in_parts(url: str) -> None:
    ticks = iter(range(10**9))
    commits = Commits()
    slow = Environment(monotonic=lambda: float(next(ticks)))
    wrap = partial(Faulty, after_commit=commits)
    with Engine(url, environment=slow, patience=10**9, wrap=wrap) as engine:
        engine["work"].add("there")
        commits.number = 0
        answers = together(engine, *(add("a", to=f"list {number}") for number in range(6)))
        assert (answers, commits.number) == ([Added(1, 0)] * 6, 7)


def test_a_group_of_many_keys_is_more_than_one_transaction(url: str) -> None:
    commits = Commits()
    with counting(url, commits) as engine:
        keys = [[f"{number:02}-{each:03}" for each in range(400)] for number in range(30)]
        asked = [(items.add, "work", list(item_input.batches(each, ItemDefaults()))) for each in keys]
        answers = together(engine, *asked)
        assert (answers, commits.number) == ([Added(400, 0)] * 30, 4)


def test_a_callback_that_raises_leaves_nobody_without_an_answer(engine: Engine) -> None:
    def leave(_: Any) -> None:
        raise SystemExit

    with held(engine):
        first = engine.grouped.ask(*add("a"))
        first.add_done_callback(leave)
        others = [engine.grouped.ask(*add(key)) for key in "bc"]
    assert [future.result(WAIT_SECONDS) for future in (first, *others)] == [Added(1, 0)] * 3


@pytest.mark.parametrize("dialect", ["postgres", "cockroach"])
def test_a_long_add_keeps_nobody_waiting_and_waits_for_nobody(engine: Engine) -> None:
    many = items.add, "work", list(item_input.batches([f"{number:04}" for number in range(1000)], ItemDefaults()))
    with held(engine):
        assert engine.grouped.ask(*many).result(WAIT_SECONDS) == Added(1000, 0)
        assert engine.grouped["work"].add(f"more {number}" for number in range(1000)) == Added(1000, 0)


@pytest.mark.parametrize("dialect", ["postgres", "cockroach"])
def test_what_is_long_goes_beside_also_if_it_is_recorded(engine: Engine) -> None:
    engine["work"].add("a")
    with held(engine), engine.acting("ann"):
        assert engine.grouped["work"].drop() == 1
    assert [record.verb for record in engine.audit()] == ["lists.drop"]


def test_threads_use_grouped_lists_as_any_other(engine: Engine) -> None:
    names = engine.grouped["work"]
    with ThreadPoolExecutor(8) as threads:
        added = list(threads.map(names.add, [f"{number % 60:02}" for number in range(120)]))
        assert sum(each.added for each in added) == 60
        assert list(threads.map(names.increment, [f"{number:02}" for number in range(60)])) == [1] * 60
        assert list(threads.map(names.done, [f"{number:02}" for number in range(60)])) == [1] * 60
    assert names.counts().total == 0
    assert names.add("last", using=None) == Added(1, 0)


def test_a_grouped_write_inside_an_own_transaction_on_a_file_is_refused(sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine, engine.transaction() as tx:
        tx["work"].add("a")
        with pytest.raises(InvalidTransaction, match="one writer"):
            engine.grouped["work"].add("b")


def test_an_own_transaction_is_joined(engine: Engine) -> None:
    with engine.transaction() as tx:
        engine.grouped["work"].add("a", using=tx)
    assert "a" in engine["work"]


def test_the_writer_does_not_wait_for_itself(engine: Engine) -> None:
    def ask_again(tx: Tx) -> None:
        engine.grouped["work"].add("a")

    answer = engine.grouped.ask(ask_again).exception()
    assert isinstance(answer, Invalid)


def test_a_claim_among_others_takes_nobody_the_promise_of_being_on_the_disk(postgres_url: str) -> None:
    @groupable(lambda: GroupKey("zoo"))  # behind the claim, as the others of its group
    def is_flushed(tx: Tx) -> str:
        return str(tx.execute("select current_setting('synchronous_commit')").fetchone()[0])

    with Engine(f"{postgres_url}&options=-c%20synchronous_commit%3Don") as engine:
        engine["work"].add("a")
        with engine.session() as session:
            asking = ClaimRequest(session.id, "work", 1, "token")
            taken, added, flushed = together(engine, (claims.take, asking), add("b", to="zoo"), (is_flushed,))
            assert [item.key for item in taken.items] == ["a"]
            assert (added, flushed) == (Added(1, 0), "on")
