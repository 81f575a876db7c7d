"""Audit: what is done in an acting block is recorded in the same transaction, or neither lands."""

import asyncio
import threading

import pytest
from tests.conftest import Clock
from tests.waiting import WAIT_SECONDS

from rowlock import AsyncEngine, Engine, Invalid, NotFound, audit, items
from rowlock.audit import AuditRecord
from rowlock.db import Tx
from rowlock.model import to_datetime


def told(records: list[AuditRecord]) -> list[tuple[str, str, str | None, int | None]]:
    return [(record.who, record.verb, record.list, record.count) for record in records]


def test_what_somebody_does_is_recorded(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    with timed.acting("ann", token=7, request="r-1"):
        timed["work"].pause()
    [record] = timed.audit()
    assert told([record]) == [("ann", "lists.pause", "work", 1)]
    assert (record.token, record.request, record.at) == (7, "r-1", to_datetime(clock()))


def test_what_nobody_in_particular_does_is_not_recorded(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.acting("ann"):
        engine["work"].info()
    engine["work"].drop()
    assert engine.audit() == []


def test_the_number_of_items_is_recorded(engine: Engine) -> None:
    engine["work"].add(["a", "b", "c"])
    with engine.acting("ann"):
        engine["work"].abandon(["a", "b", "nowhere"])
        engine["work"].add(["d", "c"])
        engine["work"].drop()
    assert told(engine.audit()) == [
        ("ann", "lists.drop", "work", 2),
        ("ann", "items.add", "work", 1),
        ("ann", "items.abandon", "work", 2),
    ]


def test_short_details_are_told(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.acting("ann"):
        engine["work"].settings(attempts=5)
        engine["work"].rename("play")
    assert [record.details for record in engine.audit()] == [{"to": "play"}, {"changes": {"attempts": 5}}]


def test_of_a_change_of_an_item_only_the_names_are_told(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.acting("ann"):
        engine["work"].save("a", data={"password": "canary"}, priority=3)
    [record] = engine.audit()
    assert (record.verb, record.details) == ("items.save", {"changes": ["data", "priority"]})


def test_making_a_token_is_recorded_without_the_token(engine: Engine) -> None:
    with engine.acting("ann"):
        made = engine.tokens.create("worker", lists=["mail/"])
        engine.tokens.revoke(made.info.id)
    revoked, created = engine.audit()
    assert (created.details, revoked.details) == (
        {"role": "worker", "lists": ["mail/"]},
        {"token": made.info.id},
    )
    assert made.text[3:33] not in repr(engine.audit())


def test_what_is_refused_is_not_recorded(engine: Engine) -> None:
    with engine.acting("ann"), pytest.raises(NotFound):
        engine["work"].pause()
    assert engine.audit() == []


def test_a_transaction_that_is_rolled_back_leaves_no_record(engine: Engine) -> None:
    engine["work"].add("a")
    with pytest.raises(ZeroDivisionError), engine.acting("ann"), engine.transaction() as tx:
        _ = tx["work"].pause() / 0
    assert (engine.audit(), engine["work"].info().state) == ([], "open")


def test_a_transaction_that_commits_leaves_its_records(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.acting("ann"), engine.transaction() as tx:
        tx["work"].pause()
        tx["work"].resume()
    assert [record.verb for record in engine.audit()] == ["lists.resume", "lists.pause"]


def test_the_innermost_block_tells_who_it_was(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.acting("ann"):
        with engine.acting("bob"):
            engine["work"].pause()
        engine["work"].resume()
    assert [record.who for record in engine.audit()] == ["ann", "bob"]


def test_another_thread_does_not_act_for_whoever_acts_here(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.acting("ann"):
        thread = threading.Thread(target=engine["work"].pause)
        thread.start()
        thread.join(WAIT_SECONDS)
    assert engine.audit() == []


def test_the_async_face_carries_who_acts_to_its_threads(url: str) -> None:
    async def act() -> list[AuditRecord]:
        async with AsyncEngine(url) as engine:
            await engine["work"].add("a")
            with engine.acting("ann"):
                await engine["work"].pause()
            return await engine.audit()

    assert told(asyncio.run(act())) == [("ann", "lists.pause", "work", 1)]


def test_records_are_found_by_list(engine: Engine) -> None:
    for name in ("one", "two"):
        engine[name].add("a")
        with engine.acting("ann"):
            engine[name].pause()
    assert told(engine.audit(of="one")) == [("ann", "lists.pause", "one", 1)]


@pytest.mark.parametrize("of", [None, "work"])
def test_records_are_found_by_time(timed: Engine, clock: Clock, of: str | None) -> None:
    timed["work"].add("a")
    for _ in range(3):
        with timed.acting("ann"):
            timed["work"].pause()
        clock.advance(60)
    assert len(timed.audit(of=of, since="2m")) == 2
    assert len(timed.audit(of=of, since=to_datetime(clock() - 60_000))) == 1


@pytest.mark.parametrize("of", [None, "work"])
def test_pages_of_records_go_backwards(engine: Engine, of: str | None) -> None:
    engine["work"].add("a")
    with engine.acting("ann"):
        for _ in range(3):
            engine["work"].pause()
    newest, *older = engine.audit(of=of)
    assert engine.audit(of=of, before=newest.id, limit=1) == older[:1]


def test_records_are_kept_for_ninety_days(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    with timed.acting("ann"):
        timed["work"].pause()
    clock.advance(90 * 86_400)
    timed.upkeep()
    kept = len(timed.audit())
    clock.advance(0.001)
    timed.upkeep()
    assert (kept, timed.audit()) == (1, [])


def test_records_are_kept_for_as_long_as_was_said(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    with timed.acting("ann", keep="1h"):
        timed["work"].pause()
    clock.advance(3601)
    timed.upkeep()
    assert timed.audit() == []


@pytest.mark.parametrize("who", ["", "two\nlines", "x" * 201])
def test_somebody_who_cannot_be_shown_cannot_act(engine: Engine, who: str) -> None:
    with pytest.raises(Invalid), engine.acting(who):
        engine["work"].add("a")


def test_long_details_are_left_out(engine: Engine) -> None:
    with engine.acting("ann"):
        engine.tokens.create("worker", lists=[f"{number:0200}" for number in range(10)])
    assert engine.audit()[0].details is None


def test_a_part_of_something_larger_is_called_by_its_name(engine: Engine) -> None:
    engine["work"].add("a")
    with audit.acting("ann", verb="items.retry"):
        engine["work"].pause()
    assert engine.audit()[0].verb == "items.retry"


def test_what_is_written_with_others_is_recorded_for_whoever_asked(engine: Engine) -> None:
    engine["work"].add(["a", "b"])
    with engine.acting("ann"):
        asked = engine.grouped.ask(items.abandon, "work", ["a"])
    asked.result(WAIT_SECONDS)
    engine.grouped["work"].abandon("b")
    assert told(engine.audit()) == [("ann", "items.abandon", "work", 1)]


@pytest.mark.parametrize(
    ("answer", "count"),
    [(True, 1), (3, 3), ((3, "z"), 3), ((True, "z"), None), ("text", None), (None, None), ([], None)],
)
def test_how_many_is_read_from_the_answer(engine: Engine, answer: object, count: int | None) -> None:
    def counted(tx: Tx, name: str) -> object:
        return answer

    with engine.acting("ann"):
        engine.run(counted, "work")
    assert engine.audit()[0].count == count
