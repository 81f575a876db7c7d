"""The schema: made once, whoever comes first; never by a program that does not know it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.conftest import DATABASES, fresh
from tests.races.test_single_statements import Meanwhile
from tests.servers import Server

from rowlock import Engine, Settings, Then, schema
from rowlock.db import Database, Tx
from rowlock.errors import SchemaBroken, SchemaMissing, SchemaTooNew

STEPS = len(list(schema.MIGRATIONS.glob("*.sqlite.sql")))

MIGRATE = """
import sys
from rowlock import Engine
engine = Engine(sys.argv[1])
sys.stdin.readline()
engine.migrate()
engine["work"].add(sys.argv[2])
engine.close()
"""
DIE_HALF_WAY = """
import os, sys
from rowlock import Engine
class Dying:
    def __init__(self, connection):
        self.connection = connection
    def __getattr__(self, name):
        return getattr(self.connection, name)
    def script(self, sql):
        self.connection.script(sql)
        os.kill(os.getpid(), 9)
Engine(sys.argv[1], wrap=Dying).migrate()
"""


@pytest.fixture(params=DATABASES)
def empty(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a database of each kind without any table."""
    dialect: str = request.param
    if dialect == "sqlite":
        yield request.getfixturevalue("sqlite_url")
    else:
        server: Server = request.getfixturevalue("postgres")
        yield from fresh(server, {"postgres": "postgresql", "cockroach": "cockroachdb"}[dialect], "template0")


def started(program: str, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_database_is_migrated_once(empty: str) -> None:
    with Engine(empty) as engine:
        assert (len(engine.migrate()), engine.migrate()) == (STEPS, [])


def test_a_file_migrates_by_itself(sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine:
        assert (engine.lists(), schema.pending(engine.database)) == ([], [])


def test_a_server_is_not_migrated_behind_anybodys_back(unmigrated_url: str) -> None:
    with Engine(unmigrated_url) as engine:
        with pytest.raises(SchemaMissing, match=r"rowlock .*migrate"):
            engine["work"].add("a")
        assert len(schema.pending(engine.database)) == STEPS


def test_an_engine_that_found_no_schema_works_after_a_migration(unmigrated_url: str) -> None:
    with Engine(unmigrated_url) as engine:
        with pytest.raises(SchemaMissing):
            engine.lists()
        engine.migrate()
        assert engine.lists() == []


def test_processes_that_migrate_at_once_do_not_disturb_each_other(empty: str) -> None:
    processes = [started(MIGRATE, empty, str(number)) for number in range(4)]
    ends = [process.communicate(b"go\n")[1] for process in processes]
    with Engine(empty) as engine:
        assert (ends, engine["work"].counts().ready) == ([b""] * 4, 4)


def test_a_migration_that_was_killed_goes_on(empty: str) -> None:
    dying = started(DIE_HALF_WAY, empty)
    dying.communicate()
    with Engine(empty) as engine:
        assert (dying.returncode, len(engine.migrate())) == (-9, STEPS)


def test_a_database_of_a_newer_program_is_refused(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.transaction() as tx:
        tx.execute("insert into rowlock_migrations values (9999, 'later', 'x', 0)")
    with Engine(address(engine)) as older:
        with pytest.raises(SchemaTooNew, match="9999"):
            older["work"].add("b")
        with pytest.raises(SchemaTooNew):
            older.migrate()


def test_a_migration_that_is_not_ours_is_refused(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.transaction() as tx:
        tx.execute("update rowlock_migrations set checksum = 'x' where number = 1")
    with Engine(address(engine)) as other:
        with pytest.raises(SchemaBroken, match="migration 1"):
            other["work"].add("b")
        with pytest.raises(SchemaBroken):
            other.migrate()


def test_tables_of_others_with_our_names_are_named(empty: str) -> None:
    with Engine(empty) as engine:
        with engine.database.transaction() as tx:
            tx.execute("create table rowlock_items (x integer)")
            tx.execute("create table rowlock_lists (x integer)")
        with pytest.raises(
            SchemaBroken, match="has a table rowlock_items and 1 more that no migration has made"
        ) as caught:
            engine.migrate()
        assert "use another database" in caught.value.hint
        with engine.database.transaction() as tx:
            tx.execute("drop table rowlock_items")
            tx.execute("drop table rowlock_lists")
        assert len(engine.migrate()) == STEPS


def address(engine: Engine) -> str:
    return str(engine.database.address.shown)


def test_every_database_carries_the_same_steps() -> None:
    steps = {path.name.partition(".")[0] for path in schema.MIGRATIONS.glob("*.sqlite.sql")}
    assert steps == {path.name.partition(".")[0] for path in schema.MIGRATIONS.glob("*.postgres.sql")}


def test_steps_are_numbered_without_gaps() -> None:
    numbers = sorted(int(path.name[:4]) for path in Path(schema.MIGRATIONS).glob("*.sqlite.sql"))
    assert numbers == list(range(1, STEPS + 1))


def older(database: Database, steps: int) -> None:
    """Make the schema of a program that knew only so many steps."""

    def take(tx: Tx) -> None:
        tx.run("migrations/create")
        for step in schema.known(database)[:steps]:
            tx.connection.script(step.sql)
            tx.run("migrations/record", number=step.number, name=step.name, checksum=step.checksum)

    database.run(take)


def test_what_waited_in_settings_waits_in_a_table_of_its_own(empty: str) -> None:
    then = '{"then":[{"list":"after"},{"list":"work","key":"parent","parent":1}],"attempts":3}'
    with Engine(empty) as engine:
        older(engine.database, 11)
        with engine.database.transaction() as tx:
            tx.execute("insert into rowlock_lists (name) values ('work')")
            tx.execute(f"insert into rowlock_lists (name, settings) values ('parts', '{then}')")
        engine.migrate()
        with engine.transaction() as tx:
            waiting = tx.execute("select list, key, awaited from rowlock_waiters").fetchall()
        assert [tuple(row) for row in waiting] == [(1, "parent", 2)]
        assert engine["parts"].settings() == Settings(attempts=3, then=(Then("after"),))


ROWS = """
insert into rowlock_tallies (list, gate, at, added, items_change, seconds, folded) values
    (1, 0, 1, 2000000000, 2000000000, 1.5, true), (1, 0, 2, 2000000000, 2000000000, 2.5, true),
    (1, 1, 3, 5, 5, 0, true), (1, 0, 4, 1, 1, 0, false)
"""


def test_sums_of_old_tallies_move_to_a_table_of_their_own(empty: str) -> None:
    with Engine(empty) as engine:
        older(engine.database, 21)
        with engine.database.transaction() as tx:
            tx.execute("insert into rowlock_lists (name) values ('work')")
            tx.execute(ROWS)
        engine.migrate()
        assert engine["work"].progress().added == 4_000_000_006
        engine["work"].add("a")
        with engine.transaction() as tx:
            assert tx.execute("select gate, added, seconds from rowlock_sums order by gate").fetchall() == [
                (0, 4_000_000_000, 4.0),
                (1, 5, 0.0),
            ]
            assert tx.execute("select id, added, done from rowlock_tallies order by id").fetchall() == [
                (4, 1, 0),
                (5, 1, None),
            ]


def test_numbers_of_tallies_go_on_where_all_were_sums(empty: str) -> None:
    with Engine(empty) as engine:
        older(engine.database, 21)
        with engine.database.transaction() as tx:
            tx.execute("insert into rowlock_lists (name) values ('work')")
            tx.execute("insert into rowlock_tallies (list, gate, at, folded) values (1, 0, 1, true), (1, 1, 1, true)")
        engine.migrate()
        engine["work"].add("a")
        with engine.transaction() as tx:
            assert tx.execute("select id from rowlock_tallies").fetchall() == [(3,)]


def test_sums_that_an_older_program_makes_meanwhile_are_counted_once(unmigrated_url: str) -> None:
    connect = psycopg.connect
    with Engine(unmigrated_url) as engine, connect(unmigrated_url) as old, connect(unmigrated_url) as by_hand:
        older(engine.database, 21)
        by_hand.autocommit = True
        by_hand.execute("insert into rowlock_lists (name) values ('work')")
        folded = "insert into rowlock_tallies (list, gate, at, added, folded) values (1, 0, 1, %s, %s)"
        by_hand.execute(folded, (5, True))
        by_hand.execute(folded, (1, False))
        old.execute("delete from rowlock_tallies")
        old.execute(folded, (6, True))
        migrating = Meanwhile(engine.migrate, by_hand)
        old.commit()
        assert len(migrating.answer()) == STEPS - 21
        assert engine["work"].progress().added == 6
