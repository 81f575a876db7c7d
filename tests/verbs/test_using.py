"""`using=`: our verbs inside a transaction that the caller opened with a driver or SQLAlchemy."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from psycopg.rows import dict_row
from sqlalchemy.orm import Session

from rowlock import Engine
from rowlock.errors import AlreadyThere, DatabaseBusy, Invalid, InvalidTransaction

OPENERS = ("driver", "core", "orm")


def keys(engine: Engine) -> list[str]:
    return [item.key for item in engine["mail"]]


def alchemy(engine: Engine) -> sqlalchemy.Engine:
    target = engine.database.address.target
    if engine.database.address.dialect == "sqlite":
        return sqlalchemy.create_engine(f"sqlite:///{target}", poolclass=sqlalchemy.NullPool)
    return sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(target), poolclass=sqlalchemy.NullPool
    )


def by_driver(engine: Engine) -> Any:
    target = engine.database.address.target
    return sqlite3.connect(target) if engine.database.address.dialect == "sqlite" else psycopg.connect(target)


def by_core(engine: Engine) -> Any:
    return alchemy(engine).connect()


def by_orm(engine: Engine) -> Any:
    return Session(alchemy(engine))


def run(caller: Any, sql: str) -> Any:
    """The caller's own statement."""
    return caller.execute(sql if isinstance(caller, sqlite3.Connection | psycopg.Connection) else sqlalchemy.text(sql))


@pytest.fixture(params=[by_driver, by_core, by_orm], ids=OPENERS)
def caller(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Any]:
    """A caller's connection or session, with a table of its own."""
    engine["mail"].add("before")
    with engine.transaction() as tx:
        tx.execute("create table orders (id integer)")
    opened: Callable[[Engine], Any] = request.param
    caller = opened(engine)
    yield caller
    caller.close()


@pytest.fixture
def old_view(postgres_url: str) -> "Iterator[psycopg.Connection[Any]]":
    """A caller who sees the database as it was: a list with two gates, without the item that was added since."""
    with Engine(postgres_url) as engine, psycopg.connect(postgres_url) as caller:
        engine["mail"].add("seen")
        engine["mail"].add("after", gate=1)
        caller.execute("set transaction isolation level repeatable read")
        caller.execute("select 1")
        engine["mail"].add("unseen")
        yield caller


def test_a_gate_is_not_opened_past_what_the_caller_cannot_see(
    postgres_url: str, old_view: "psycopg.Connection[Any]"
) -> None:
    with Engine(postgres_url) as engine:
        engine.join(old_view)["mail"].done("seen")
        old_view.commit()
        engine.upkeep()
        assert engine["mail"].info().gate == 0
        engine["mail"].done("unseen")
        assert engine["mail"].info().gate == 1


def test_a_gate_is_not_opened_by_hand_by_who_cannot_see_what_is_left(
    postgres_url: str, old_view: "psycopg.Connection[Any]"
) -> None:
    with Engine(postgres_url) as engine:
        mail = engine.join(old_view)["mail"]
        mail.done("seen")
        with pytest.raises(Invalid, match="repeatable read"):
            mail.open_gate(1)


def test_a_list_is_not_dropped_by_who_cannot_see_all_of_it(
    postgres_url: str, old_view: "psycopg.Connection[Any]"
) -> None:
    with Engine(postgres_url) as engine:
        with pytest.raises(Invalid, match="cannot be dropped in a transaction at repeatable read"):
            engine.join(old_view)["mail"].drop()
        old_view.rollback()
        assert engine["mail"].drop() == 3


def test_an_add_lands_when_the_caller_commits(engine: Engine, caller: Any) -> None:
    run(caller, "insert into orders values (7)")
    engine["mail"].add("receipt-7", using=caller)
    before = keys(engine)
    caller.commit()
    assert (before, keys(engine)) == (["before"], ["before", "receipt-7"])


def test_an_add_that_comes_first_lands_when_the_caller_commits(engine: Engine, caller: Any) -> None:
    engine["mail"].add("receipt-7", using=caller)
    before = keys(engine)
    caller.commit()
    assert (before, keys(engine)) == (["before"], ["before", "receipt-7"])


def test_an_add_is_gone_when_the_caller_rolls_back(engine: Engine, caller: Any) -> None:
    engine["mail"].add("receipt-7", using=caller)
    caller.rollback()
    assert (keys(engine), engine["mail"].counts().total) == (["before"], 1)


def test_an_add_is_gone_when_its_savepoint_is_rolled_back(engine: Engine, caller: Any) -> None:
    run(caller, "insert into orders values (7)")
    run(caller, "savepoint mine")
    engine["mail"].add("receipt-7", using=caller)
    run(caller, "rollback to savepoint mine")
    caller.commit()
    assert (keys(engine), engine["mail"].counts().total) == (["before"], 1)


def test_a_refused_add_leaves_no_part_of_itself_with_the_caller(engine: Engine, caller: Any) -> None:
    with pytest.raises(AlreadyThere):
        engine["mail"].add(["new", "new"], strict=True, using=caller)
    run(caller, "insert into orders values (7)")
    caller.commit()
    assert (keys(engine), run(caller, "select count(*) from orders").fetchone()[0]) == (["before"], 1)


def test_several_adds_land_together(engine: Engine, caller: Any) -> None:
    engine["mail"].add("one", using=caller)
    engine["other"].add(["two", "three"], due="1h", using=caller)
    caller.commit()
    assert (keys(engine), engine["other"].counts().delayed) == (["before", "one"], 2)


def test_all_verbs_can_be_had_in_a_callers_transaction(engine: Engine, caller: Any) -> None:
    joined = engine.join(caller)
    joined["mail"].increment("before")
    joined["mail"].done("before")
    caller.rollback()
    assert engine["mail"].show("before").attempts == 0


def test_rows_of_the_callers_own_shape_do_not_disturb_us(engine: Engine) -> None:
    engine["mail"].add("before")
    caller = by_driver(engine)
    caller.row_factory = {"sqlite": sqlite3.Row}.get(engine.database.address.dialect, dict_row)
    engine["mail"].add("after", using=caller)
    caller.commit()
    caller.close()
    assert keys(engine) == ["after", "before"]


def by_hand(engine: Engine) -> Any:
    """A transaction that was begun in autocommit, as Django does it."""
    caller = sqlite3.connect(engine.database.address.target, isolation_level=None)
    caller.execute("begin")
    return caller


@pytest.fixture(params=[by_driver, by_core, by_orm, by_hand], ids=[*OPENERS, "hand"])
def first(request: pytest.FixtureRequest, sqlite_url: str) -> Iterator[tuple[Engine, Any]]:
    """An engine and a caller on a file that has no table of ours yet."""
    with Engine(sqlite_url) as engine:
        caller = request.param(engine)
        yield engine, caller
        caller.close()


def test_a_caller_whose_first_write_is_an_add_holds_the_file(first: tuple[Engine, Any]) -> None:
    engine, caller = first
    engine["mail"].add("before")
    engine.join(caller)
    other = sqlite3.connect(engine.database.address.target, isolation_level=None, timeout=0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("begin immediate")
    other.close()


@pytest.mark.parametrize("level", ["DEFERRED", None])
def test_an_add_that_comes_first_waits_as_long_as_the_caller_says(sqlite_url: str, level: Any) -> None:
    with Engine(sqlite_url) as engine:
        engine["mail"].add("before")
        caller = sqlite3.connect(sqlite_url, timeout=0, isolation_level=level)
        if level is None:
            caller.execute("begin")
        with engine.transaction(), pytest.raises(DatabaseBusy):
            engine["mail"].add("after", using=caller)
        caller.close()


def hold(caller: Any) -> None:
    """Take the write lock of the file, as a caller does who writes first."""
    run(caller, "create table orders (id integer)")
    run(caller, "insert into orders values (7)")


def test_the_tables_are_made_in_the_transaction_of_a_caller_who_holds_a_new_file(first: tuple[Engine, Any]) -> None:
    engine, caller = first
    hold(caller)
    engine["mail"].add("a", using=caller)
    engine["mail"].add("b", using=caller)
    caller.commit()
    assert keys(engine) == ["a", "b"]


def test_tables_that_a_caller_has_rolled_back_are_made_again(first: tuple[Engine, Any]) -> None:
    engine, caller = first
    hold(caller)
    engine["mail"].add("a", using=caller)
    engine["mail"].add("b", using=caller)
    caller.rollback()
    engine["mail"].add("c")
    assert keys(engine) == ["c"]


def autocommitting(engine: Engine) -> Any:
    target = engine.database.address.target
    if engine.database.address.dialect == "sqlite":
        return sqlite3.connect(target, isolation_level=None)
    return psycopg.connect(target, autocommit=True)


def test_a_connection_in_autocommit_is_refused(engine: Engine) -> None:
    engine["mail"].add("before")
    caller = autocommitting(engine)
    with pytest.raises(InvalidTransaction, match="no open transaction"):
        engine["mail"].add("after", using=caller)
    caller.close()
    assert keys(engine) == ["before"]


def test_a_transaction_begun_by_hand_in_autocommit_is_joined(engine: Engine) -> None:
    engine["mail"].add("before")
    caller = autocommitting(engine)
    caller.execute("begin")
    engine["mail"].add("after", using=caller)
    caller.execute("rollback")
    caller.close()
    assert keys(engine) == ["before"]


def test_an_alchemy_connection_in_autocommit_is_refused(engine: Engine) -> None:
    engine["mail"].add("before")
    caller = alchemy(engine).connect().execution_options(isolation_level="AUTOCOMMIT")
    with caller, pytest.raises(InvalidTransaction):
        engine["mail"].add("after", using=caller)
    assert keys(engine) == ["before"]


@pytest.mark.parametrize("caller", [by_orm], indirect=True, ids=["orm"])
def test_a_nested_transaction_of_a_session_can_be_rolled_back(engine: Engine, caller: Any) -> None:
    run(caller, "insert into orders values (7)")
    nested = caller.begin_nested()
    engine["mail"].add("receipt-7", using=caller)
    nested.rollback()
    caller.commit()
    assert keys(engine) == ["before"]


def test_a_failed_transaction_is_refused(postgres_url: str) -> None:
    with Engine(postgres_url) as engine, psycopg.connect(postgres_url) as caller:
        with pytest.raises(psycopg.errors.DivisionByZero):
            caller.execute("select 1 / 0")
        with pytest.raises(InvalidTransaction, match="failed already"):
            engine["mail"].add("a", using=caller)


def test_a_closed_connection_is_refused(engine: Engine) -> None:
    engine["mail"].add("before")
    caller = by_driver(engine)
    caller.close()
    with pytest.raises(InvalidTransaction):
        engine["mail"].add("after", using=caller)


@pytest.mark.parametrize("wrong", [None.__class__, "text", 7, object()], ids=["class", "text", "number", "object"])
def test_what_is_no_transaction_is_refused(engine: Engine, wrong: object) -> None:
    with pytest.raises(InvalidTransaction):
        engine["mail"].add("a", using=wrong)


def test_a_transaction_of_another_kind_of_database_is_refused(sqlite_url: str, postgres_url: str) -> None:
    with (
        Engine(sqlite_url) as small,
        Engine(postgres_url) as large,
        psycopg.connect(postgres_url) as of_postgres,
        small.transaction() as own,
    ):
        of_sqlite = sqlite3.connect(sqlite_url)
        with pytest.raises(InvalidTransaction, match="SQLite"):
            small["mail"].add("a", using=of_postgres)
        with pytest.raises(InvalidTransaction, match="PostgreSQL"):
            large["mail"].add("a", using=of_sqlite)
        with pytest.raises(InvalidTransaction):
            large["mail"].add("a", using=own)
        of_sqlite.close()


def test_a_transaction_of_another_engine_is_refused(sqlite_url: str) -> None:
    one, other = Engine(sqlite_url), Engine(f"{sqlite_url}.other")
    with one, other, one.transaction() as tx, pytest.raises(InvalidTransaction):
        other["mail"].add("a", using=tx)


def test_an_add_joins_a_transaction_that_holds_the_file_already(sqlite_url: str) -> None:
    with Engine(sqlite_url) as first:
        first["mail"].add("before")
    caller = sqlite3.connect(sqlite_url)
    caller.execute("begin immediate")
    with Engine(sqlite_url) as engine:
        engine["mail"].add("after", using=caller)
        caller.commit()
        assert keys(engine) == ["after", "before"]
    caller.close()


def test_a_transaction_of_another_file_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    with Engine(sqlite_url) as engine, Engine(str(tmp_path / "other.db")) as other:
        other["mail"].add("before")
        caller = sqlite3.connect(tmp_path / "other.db")
        with pytest.raises(InvalidTransaction, match="another file"):
            engine["mail"].add("after", using=caller)
        caller.close()
        assert keys(other) == ["before"]


def test_a_transaction_of_another_database_is_refused(postgres_url: str) -> None:
    caller = psycopg.connect(postgres_url, dbname="postgres")
    with Engine(postgres_url) as engine, caller, pytest.raises(InvalidTransaction, match="the database 'postgres'"):
        engine["mail"].add("after", using=caller)
