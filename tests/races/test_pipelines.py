"""Trips on PostgreSQL: what is sent together lands piece by piece, and what goes wrong on the way is told."""

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tests.races.faults import Faulty
from tests.races.test_faults import end_others

from rowlock import Engine, settlements
from rowlock.db import Tx
from rowlock.errors import InvalidData, SchemaMissing
from rowlock.outcomes import Verdict
from rowlock.worker.backend import LocalBackend

FAILING_COMMIT = """
create sequence commits;
create function fail_once() returns trigger language plpgsql as $$
begin
    if nextval('commits') = 1 then raise exception 'at commit' using errcode = '40001'; end if;
    return null;
end $$;
create constraint trigger fail after delete on rowlock_claims deferrable initially deferred
    for each row execute function fail_once();
"""


@pytest.fixture
def engine(postgres_url: str) -> Any:
    with Engine(postgres_url) as engine:
        engine["work"].add("abc")
        yield engine


def settings_of(*names: str) -> Callable[[Tx], Callable[[], Any]]:
    return lambda tx: tx.send("lists/settings_of", keys=json.dumps(names))


def test_a_statement_that_fails_in_a_trip_is_told_and_the_next_trip_goes_on(engine: Engine) -> None:
    with pytest.raises(InvalidData):
        engine.pipeline(settings_of("work"), lambda tx: tx.send("lists/settings_of", keys="no JSON"))
    with pytest.raises(InvalidData, match="zero byte"):
        engine.pipeline(lambda tx: tx.send("lists/find", name="a\0b"))
    assert engine.pipeline(settings_of("work"), settings_of("none")) == [[("work", "{}")], []]


def test_what_is_wrong_with_the_database_is_told_by_a_trip_too(engine: Engine, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("alter table rowlock_lists rename to elsewhere")
    with pytest.raises(SchemaMissing):
        engine.pipeline(settings_of("work"))


def test_a_trip_on_a_connection_that_was_cut_is_made_again(engine: Engine, postgres_url: str) -> None:
    assert engine.pipeline(settings_of("work")) == [[("work", "{}")]]
    end_others(postgres_url)
    assert engine.pipeline(settings_of("work")) == [[("work", "{}")]]


def test_a_trip_that_is_interrupted_leaves_no_answer_to_the_next(engine: Engine) -> None:
    def interrupted(tx: Tx) -> Callable[[], Any]:
        settings_of("work")(tx)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.pipeline(settings_of("work"), interrupted)
    assert engine.pipeline(settings_of("none")) == [[]]


def test_a_settlement_whose_commit_fails_is_made_again(postgres_url: str) -> None:
    with Engine(postgres_url) as engine, engine.session() as session:
        engine["work"].add(list("abc"))
        claimer = LocalBackend(engine).claimer(session)
        first = claimer.claim("work", limit=1)
        assert first is not None
        with psycopg.connect(postgres_url) as connection:
            connection.execute(FAILING_COMMIT)
        done = settlements.try_settle_done.bind(session.id, first.token, [first.high], use_planner_hints=True)
        [verdicts], second = claimer.settle_and_claim([done], "work")
        assert second is not None
        # The claim is a transaction of its own: whether the first try's claim landed is unknown.
        assert (verdicts, second.items[0].key in "bc") == ([Verdict.DONE], True)
        assert engine["work"].progress().done == 1


def test_settlements_of_several_lists_share_a_flush(engine: Engine, postgres_url: str) -> None:
    engine["other"].add("a")
    with engine.session() as session:
        claimer = LocalBackend(engine).claimer(session)
        claims = [claimed for name in ("work", "other") if (claimed := claimer.claim(name, limit=1)) is not None]
        settle = settlements.try_settle_done.bind
        done = [settle(session.id, each.token, [each.high], use_planner_hints=True) for each in claims]
        assert claimer.settle_and_claim(done)[0] == [[Verdict.DONE], [Verdict.DONE]]
    with psycopg.connect(postgres_url) as connection:
        transactions = connection.execute("select xmin::text from rowlock_tallies where done = 1").fetchall()
    assert (len(transactions), len(set(transactions))) == (2, 1)


def test_a_trip_may_be_larger_than_what_a_socket_holds(engine: Engine) -> None:
    many = settings_of(*(f"{number:0100}" for number in range(20_000)), "work")
    assert engine.pipeline(many, many, many) == [[("work", "{}")]] * 3


def test_trips_and_transactions_share_a_connection(postgres_url: str) -> None:
    opened: list[Any] = []

    def noted(connection: Any) -> Any:
        opened.append(connection)
        return Faulty(connection)

    with Engine(postgres_url, wrap=noted) as engine:
        for key in "abc":
            engine["work"].add(key)
            assert engine.pipeline(settings_of("work")) == [[("work", "{}")]]
        assert engine["work"].counts().ready == 3
    assert len(opened) == 1
