"""A pooler in transaction mode: connections of the server are shared, and nothing is left on them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest
from tests.poolers import NoPooler, PgBouncer
from tests.servers import Server

from rowlock import Engine, Transaction, items, lists, schema
from rowlock.db import Database, Tx
from rowlock.environment import Environment
from rowlock.errors import DatabaseBusy, DatabaseUnreachable, InvalidUrl

SESSION = """
select current_setting('default_transaction_isolation'), current_setting('statement_timeout'),
    current_setting('lock_timeout'), (select count(*) from pg_prepared_statements),
    (select count(*) from pg_listening_channels())
"""
UNTOUCHED = ("read committed", "0", "0", 0, 0)
CONNECTIONS = "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"


@pytest.fixture
def pooled(pooled_url: str) -> Iterator[Engine]:
    with Engine(pooled_url) as engine:
        yield engine


@contextmanager
def own_pooler(server: Server, **settings: str) -> Iterator[PgBouncer]:
    """A pooler that a test may stop, or set up as it likes."""
    try:
        pooler = PgBouncer(server, **settings).start()
    except NoPooler as why:
        pytest.skip(str(why))
    try:
        yield pooler
    finally:
        pooler.remove()


def test_many_engines_share_two_connections(pooled_url: str, postgres_url: str) -> None:
    with ExitStack() as stack:
        engines = [stack.enter_context(Engine(pooled_url)) for _ in range(6)]
        sessions = [stack.enter_context(engine.session()) for engine in engines]
        for number, (engine, session) in enumerate(zip(engines, sessions, strict=True)):
            engine["work"].add([f"{number}-a", f"{number}-b"])
            with session.take("work", limit=1) as claim:
                claim.done(next(iter(claim)))
        assert engines[0]["work"].counts().ready == 6
        with psycopg.connect(postgres_url) as direct:
            assert len(direct.execute(CONNECTIONS).fetchall()) <= 2


def test_nothing_is_left_on_a_shared_connection(pooled_url: str) -> None:
    with Engine(f"{pooled_url}&isolation=serializable", statement_seconds=60) as engine:
        engine["work"].add("a")
        engine.grouped["work"].add("b")
        engine.pipeline(lists.apply_wakes.bind())
        listener = engine.database.clone(connections=1, listening=True)
        listener.wait_for_hint(0)
        listener.close()
    with psycopg.connect(pooled_url) as one, psycopg.connect(pooled_url) as other:
        assert [each.execute(SESSION).fetchone() for each in (one, other)] == [UNTOUCHED] * 2


def test_the_level_of_an_engine_holds_in_each_transaction(pooled_url: str) -> None:
    with Engine(f"{pooled_url}&isolation=serializable") as engine, engine.database.transaction() as tx:
        assert tx.execute("show transaction_isolation").fetchone() == ("serializable",)


ASKED: dict[str, Callable[[Database], Any]] = {
    "read": lambda database: database.read(items.page, "work"),
    "run": lambda database: database.run(items.page, "work"),
    "pipeline": lambda database: database.pipeline(items.show_many.bind("work", ["a"])),
}


@pytest.mark.parametrize("way", ASKED)
def test_a_statement_that_takes_too_long_is_given_up(pooled_url: str, postgres_url: str, way: str) -> None:
    with Engine(pooled_url, statement_seconds=0.1) as engine, psycopg.connect(postgres_url) as other:
        engine["work"].add("a")
        other.execute("lock table rowlock_items")
        with pytest.raises(DatabaseBusy, match="took too long"):
            ASKED[way](engine.database)


def test_a_pooler_is_seen_by_itself(pooled: Engine, postgres_url: str) -> None:
    with Engine(postgres_url) as direct:
        direct.lists()
        pooled.lists()
        assert (direct.database.driver.pooled(), pooled.database.driver.pooled()) == (False, True)


def test_a_pooler_that_gives_each_client_a_connection_is_believed(postgres: Server, postgres_url: str) -> None:
    with own_pooler(postgres, pool_mode="session") as pooler:
        with Engine(f"{pooler.before(postgres_url)}&pooler=session", connections=1) as engine:
            engine["work"].add("a")
            with engine.database.transaction() as tx:
                prepared = tx.execute("select count(*) from pg_prepared_statements").fetchone()
        assert (engine.database.driver.pooled(), prepared[0] > 0) == (False, True)


def forget(tx: Tx) -> None:
    """What another connection of the server would know: nothing."""
    tx.execute("deallocate all")


def test_a_statement_that_was_lost_is_run_again_unprepared(postgres_url: str) -> None:
    with Engine(postgres_url, connections=1) as engine:
        engine["work"].add("a")
        engine.read(forget)
        assert engine["work"].add("b").added == 1
        assert engine["work"].counts().ready == 2
        assert engine.database.driver.pooled()


def test_a_statement_that_somebody_else_has_prepared_is_run_again_unprepared(postgres_url: str) -> None:
    with Engine(postgres_url, connections=1) as one, Engine(postgres_url, connections=1) as other:
        one["work"].add("a")
        names = one.read(lambda tx: tx.execute("select name from pg_prepared_statements").fetchall())
        other.lists()
        mine = other.read(lambda tx: tx.execute("select name from pg_prepared_statements").fetchall())
        for (name,) in {*names} - {*mine}:
            other.read(lambda tx, name=name: tx.execute(f'prepare "{name}" as select 1'))
        assert other["work"].add("b").added == 1
        assert (one["work"].counts().ready, other.database.driver.pooled()) == (2, True)


def test_a_transaction_that_lost_a_statement_lands_when_it_is_run_again(postgres_url: str) -> None:
    def work(tx: Transaction, *, spoil: bool) -> None:
        tx["work"].add("b")
        if spoil:
            tx.execute("deallocate all")
        tx["work"].add("c")

    lands_the_second_time(postgres_url, work)


def test_a_commit_that_lost_its_statement_lands_when_it_is_run_again(postgres_url: str) -> None:
    def work(tx: Transaction, *, spoil: bool) -> None:
        tx["work"].add(["b", "c"])
        if spoil:
            tx.execute("deallocate all")

    lands_the_second_time(postgres_url, work)


def lands_the_second_time(url: str, work: Callable[..., None]) -> None:
    with Engine(url, connections=1) as engine:
        engine["work"].add("a")
        with pytest.raises(DatabaseBusy, match="prepared statement"), engine.transaction() as tx:
            work(tx, spoil=True)
        assert engine["work"].counts().ready == 1
        with engine.transaction() as tx:
            work(tx, spoil=False)
        assert engine["work"].counts().ready == 3


def test_a_transaction_of_the_callers_own_goes_by_the_pooler_too(pooled: Engine, pooled_url: str) -> None:
    with psycopg.connect(pooled_url, prepare_threshold=None) as mine:
        for number in range(20):
            pooled["work"].add(f"{number}", using=mine)
        mine.commit()
    assert pooled["work"].counts().ready == 20


def test_two_who_migrate_at_once_by_the_pooler_take_each_step_once(unmigrated_url: str, pgbouncer: PgBouncer) -> None:
    with Engine(pgbouncer.before(unmigrated_url)) as engine, ThreadPoolExecutor(2) as threads:
        taken = [*threads.map(lambda _: engine.migrate(), range(2))]
        assert sorted(taken[0] + taken[1]) == sorted(step.name for step in schema.known(engine.database))


def test_a_connection_that_the_server_has_closed_is_replaced(pooled: Engine, postgres_url: str) -> None:
    pooled["work"].add("a")
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(f"select pg_terminate_backend(pid, 5000) from ({CONNECTIONS}) as found")
    assert pooled["work"].add("b").added == 1


def test_an_engine_goes_on_when_the_pooler_is_back(postgres: Server, postgres_url: str) -> None:
    with own_pooler(postgres) as pooler, Engine(pooler.before(postgres_url)) as engine:
        engine["work"].add("a")
        pooler.stop()
        pooler.start()
        assert engine["work"].add("b").added == 1


def test_a_pool_without_a_free_connection_is_waited_for(postgres: Server, postgres_url: str) -> None:
    with own_pooler(postgres, default_pool_size="1", query_wait_timeout="0.1") as pooler:
        url = pooler.before(postgres_url)
        with psycopg.connect(url) as other:
            environment = Environment(sleep=lambda _: other.rollback())
            with Engine(f"{url}&pooler=transaction", environment=environment) as engine:
                engine.lists()
                other.execute("select 1")
                assert engine["work"].add("a").added == 1


def test_a_pool_that_stays_full_is_told(postgres: Server, postgres_url: str) -> None:
    with own_pooler(postgres, default_pool_size="1", query_wait_timeout="0.1") as pooler:
        url = pooler.before(postgres_url)
        with psycopg.connect(url) as other, Engine(url, patience=0) as engine:
            engine.lists()
            other.execute("select 1")
            with pytest.raises(DatabaseUnreachable, match="no free connection in time") as error:
                engine["work"].add("a")
            assert "default_pool_size" in str(error.value)


def test_options_that_the_pooler_refuses_are_told(pooled_url: str) -> None:
    with Engine(f"{pooled_url}&options=-csearch_path%3Dmine") as engine:
        with pytest.raises(InvalidUrl, match="takes no options for a session: options") as error:
            engine.lists()
        assert "alter role" in str(error.value)


def test_hints_come_by_the_address_to_listen_at(pooled_url: str, postgres_url: str) -> None:
    with Engine(pooled_url, listen_url=postgres_url) as engine:
        listener = engine.database.clone(connections=1, listening=True)
        listener.wait_for_hint(0)
        engine["work"].add("a")
        assert listener.wait_for_hint(20)
        listener.close()


def test_without_such_an_address_no_hint_comes(pooled: Engine) -> None:
    listener = pooled.database.clone(connections=1, listening=True)
    listener.wait_for_hint(0)
    pooled["work"].add("a")
    assert not listener.wait_for_hint(0)
    listener.close()
