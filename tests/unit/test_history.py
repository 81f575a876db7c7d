"""History: each operation as it was asked, and how it ended."""

import json
import os
import sqlite3
from concurrent.futures import wait
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.races.faults import Faulty, Once, raising

from rowlock import Engine, counters, sessions
from rowlock.errors import AlreadyThere, NoSuchList, OutcomeUnknown


@pytest.fixture
def events() -> list[dict[str, Any]]:
    return []


def phases(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["phase"], event["operation"]) for event in events]


def test_a_file_of_events_is_for_its_owner_alone(sqlite_url: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Engine(sqlite_url, history=tmp_path / "history").close()
    finally:
        os.umask(before)
    assert (tmp_path / "history").stat().st_mode & 0o777 == 0o600


def test_an_operation_that_went_well_is_ok(sqlite_url: str, events: list[dict[str, Any]]) -> None:
    with Engine(sqlite_url, history=events.append) as engine:
        engine["work"].add("a")
    assert phases(events) == [("invoke", "items.add"), ("ok", "items.add")]


def test_an_answer_is_written_down(sqlite_url: str, events: list[dict[str, Any]]) -> None:
    with Engine(sqlite_url, history=events.append) as engine:
        engine["work"].add(["a", "b"])
        engine["work"].done(["a", "z"])
    assert [event["answer"] for event in events if event["phase"] == "ok"][1] == 1


def test_a_refused_operation_is_a_no(sqlite_url: str, events: list[dict[str, Any]]) -> None:
    with Engine(sqlite_url, history=events.append) as engine:
        with pytest.raises(NoSuchList):
            engine["work"].pause()
        with pytest.raises(AlreadyThere):
            engine["work"].add(["a", "a"], strict=True)
    assert [(event["phase"], event.get("code")) for event in events][1::2] == [
        ("no", "no-such-list"),
        ("no", "already-there"),
    ]


def test_an_unknown_outcome_is_unknown(sqlite_url: str, events: list[dict[str, Any]]) -> None:
    with Engine(sqlite_url) as engine:
        engine["work"].add("a")
    broken = partial(Faulty, after_autocommit=Once(raising(OutcomeUnknown("broke", "look"))))
    with Engine(sqlite_url, history=events.append, wrap=broken) as engine, pytest.raises(OutcomeUnknown):
        engine["work"].add("b")
    assert phases(events) == [("invoke", "items.add"), ("unknown", "items.add")]


def test_an_interrupted_operation_is_unknown(sqlite_url: str, events: list[dict[str, Any]]) -> None:
    with Engine(sqlite_url) as engine:
        engine["work"].add("a")
    broken = partial(Faulty, after_autocommit=Once(raising(KeyboardInterrupt())))
    with Engine(sqlite_url, history=events.append, wrap=broken) as engine:
        with pytest.raises(KeyboardInterrupt):
            engine["work"].add("b")
        engine["work"].add("c")
    assert [phase for phase, _ in phases(events)] == ["invoke", "unknown", "invoke", "ok"]


def test_a_file_gets_one_line_per_event(sqlite_url: str, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    with Engine(sqlite_url, history=file) as engine:
        engine["work"].add({"key": "a", "data": {"é": [1]}})
        engine["work"].show("a")
    written = [json.loads(line) for line in file.read_text().splitlines()]
    assert [event["operation"] for event in written] == ["items.add", "items.add", "items.show", "items.show"]
    assert {event["process"] for event in written} == {os.getpid()}


def test_the_environment_switches_it_on(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWLOCK_HISTORY", str(tmp_path / "history.jsonl"))
    with Engine(sqlite_url) as engine:
        engine.lists()
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) == 2


def test_what_cannot_be_written_as_it_is_does_not_break_the_operation(sqlite_url: str, tmp_path: Path) -> None:
    with Engine(sqlite_url, history=tmp_path / "history.jsonl") as engine:
        engine["work"].add("a")
        assert engine["work"].increment("a", error="caf\udce9") == 1


def test_a_transaction_is_written_with_its_verbs_before_it_commits(
    sqlite_url: str, events: list[dict[str, Any]]
) -> None:
    with Engine(sqlite_url, history=events.append) as engine:
        with engine.transaction() as tx:
            tx["work"].add("a")
            tx.counter("numbers").next()
            assert events == []
        with pytest.raises(NoSuchList), engine.transaction() as tx:
            tx["other"].pause()
    assert phases(events) == [("invoke", "transaction"), ("ok", "transaction")]
    assert [work["verb"] for work in events[0]["arguments"]["works"]] == ["items.add", "counters.take"]


def test_a_transaction_whose_commit_breaks_is_unknown(sqlite_url: str, events: list[dict[str, Any]]) -> None:
    with Engine(sqlite_url) as engine:
        engine.migrate()
    broken = partial(Faulty, after_commit=Once(raising(OutcomeUnknown("broke", "look"))))
    engine = Engine(sqlite_url, history=events.append, wrap=broken)
    with closing(engine), pytest.raises(OutcomeUnknown), engine.transaction() as tx:
        tx["work"].add("a")
    assert phases(events) == [("invoke", "transaction"), ("unknown", "transaction")]


def test_what_runs_in_a_transaction_of_the_caller_is_unknown(sqlite_url: str, events: list[dict[str, Any]]) -> None:
    with Engine(sqlite_url, history=events.append) as engine:
        engine.migrate()
        with closing(sqlite3.connect(sqlite_url)) as connection:
            engine["work"].add("a", using=connection)
    assert [(event["phase"], event.get("code")) for event in events] == [("invoke", None), ("unknown", "joined")]


def test_calls_that_end_later_are_written_under_their_own_numbers(
    sqlite_url: str, events: list[dict[str, Any]]
) -> None:
    with Engine(sqlite_url, history=events.append) as engine:
        asked = [engine.grouped.ask(counters.take, "numbers") for _ in range(3)]
        wait(asked)
    assert sorted(event["call"] for event in events if event["phase"] == "ok") == [1, 2, 3]


def test_upkeep_and_heartbeats_are_written(sqlite_url: str, events: list[dict[str, Any]]) -> None:
    with Engine(sqlite_url, history=events.append) as engine:
        engine.upkeep()
        session = engine.session(expiry="1h").open()
        with engine.dedicated_connection() as writer:
            writer.run(sessions.beat, session.id)
        session.close()
    assert [operation for phase, operation in phases(events) if phase == "ok"] == [
        "upkeep.run_pass",
        "sessions.open_session",
        "sessions.beat",
        "sessions.close",
    ]
