"""Recorded histories: sessions killed at random keep the promises, and the checker would see if they did not."""

from pathlib import Path
from typing import Any

import pytest
from tests.histories.checker import State, check
from tests.histories.reading import Event, read
from tests.races.killing import Gang, at_work, until

from rowlock import Engine
from rowlock.diagnostics import broken_rules as check_rows

SETTLEMENT = "settlements.try_settle_done"
CLAIMING = """
from rowlock.errors import Stale
while engine["work"].counts().total:
    try:
        engine.upkeep()
        with engine.session(expiry="1s") as session:
            for claim in session.claim("work", limit=7):
                for item in claim:
                    claim.done(item)
    except Stale:
        continue
engine.close()
"""


@pytest.mark.parametrize("dialect", [pytest.param("sqlite", marks=pytest.mark.torture), "postgres"])
@pytest.mark.fault("worker killed", 4)
def test_the_history_of_killed_sessions_keeps_the_promises(url: str, tmp_path: Path) -> None:
    file = tmp_path / "history"
    with Engine(url, history=file) as engine:
        engine["work"].add(f"{number:05}" for number in range(800))
    with Engine(url) as engine:
        gang = Gang(url, CLAIMING, 4, ROWLOCK_HISTORY=str(file))
        for kill in range(4):
            until(lambda after=kill * 100: engine["work"].progress().done >= after)
            gang.kill_one(lambda: at_work(engine))
        assert gang.wait() == [0] * 4
        events = read(file)
        assert (check(events, State(present=0)), engine["work"].progress().done) == ([], 800)
        assert engine.read(check_rows) == []
    assert any(event["operation"] == "pipeline" for event in events)


def told(operation: str, arguments: Any, answer: Any, process: int = 1) -> list[Event]:
    who = {"operation": operation, "process": process, "thread": 1}
    asked = {"phase": "invoke", "arguments": {"args": arguments}, **who}
    return [asked, {"phase": "ok", "answer": answer, **who}]


def added(number: int) -> list[Event]:
    return told("items.add", ["work"], {"added": number})


def taken(token: str, *positions: int) -> list[Event]:
    return told("claims.take", [], {"token": token, "items": [{"position": each} for each in positions]})


def settled(token: str, verdict: str, *positions: int) -> list[Event]:
    return told("settlements.settle", ["s", token, [[each, {}] for each in positions]], [verdict] * len(positions))


GOOD = [*added(2), *taken("t", 1, 2), *settled("t", "done", 1, 2)]
CUT_OFF = settled("t", "done", 2)[:1]


def test_a_line_that_was_torn_by_a_kill_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "history"
    whole, torn = '{"at":1,"phase":"ok"}', '{"at":2,"phase":"o'
    file.write_text(f"{whole}\n{torn}{whole}\n{torn}")
    assert read(file) == [{"at": 1, "phase": "ok"}] * 2


def test_a_good_history_passes() -> None:
    assert check(GOOD, State(present=0)) == []


def test_an_answer_that_was_asked_for_again_is_no_second_settlement() -> None:
    assert check([*GOOD, *settled("t", "done", 1, 2)], State(present=0)) == []


def test_an_item_done_under_two_claims_is_seen() -> None:
    events = [*GOOD, *taken("u", 1), *settled("u", "done", 1)]
    wrong = ["position 1 was done 2 times", "position 1 was handed out under u after it was settled"]
    assert check(events, State(present=0)) == wrong


def test_a_lost_item_is_seen() -> None:
    events = [*added(2), *taken("t", 1), *settled("t", "done", 1)]
    assert check(events, State(present=0)) == ["of 2 added items 1 were done, 0 are there, 0 may have been done"]


def test_what_nobody_can_know_is_forgiven() -> None:
    events = [*added(2), *taken("t", 1, 2), *settled("t", "done", 1), *CUT_OFF]
    assert (check(events, State(present=0)), check(events, State(present=1))) == ([], [])


def test_a_token_that_comes_twice_is_seen() -> None:
    assert check([*GOOD, *taken("t", 3)], State(present=0)) == ["the token t came twice"]


def test_a_settlement_of_what_was_never_handed_out_is_seen() -> None:
    events = [*added(1), *taken("t", 1), *settled("t", "gone", 9)]
    assert check(events, State(present=1)) == ["position 9 was settled under t, which never had it"]


def travelled(token: str, *positions: int, then: str, hands_out: int) -> list[Event]:
    who = {"operation": "pipeline", "process": 1, "thread": 1}
    settle = {"verb": SETTLEMENT, "args": ["session", token, list(positions)], "kwargs": {}}
    asked = {"works": [settle, {"verb": "claims.take", "args": ["the next"], "kwargs": {}}]}
    answer = [["done"] * len(positions), {"token": then, "items": [{"position": hands_out}]}]
    return [{"phase": "invoke", "arguments": asked, **who}, {"phase": "ok", "answer": answer, **who}]


def test_what_a_trip_settled_and_handed_out_counts() -> None:
    pipeline = travelled("t", 1, 2, then="u", hands_out=3)
    events = [*added(3), *taken("t", 1, 2), *pipeline]
    assert (check(events, State(present=1)), check([*events, *settled("u", "done", 3)], State(present=0))) == ([], [])
    assert check([*events, *settled("u", "done", 1)], State(present=1))[0].startswith("position 1 was settled under u")
    assert check([*added(2), *taken("t", 1, 2), pipeline[0]], State(present=0)) == []
