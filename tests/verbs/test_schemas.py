"""Tables in a PostgreSQL schema of their own: every statement finds them, whatever the search_path is."""

from collections.abc import Iterator

import psycopg
import pytest
from tests.poolers import PgBouncer
from tests.waiting import WAIT_SECONDS

from rowlock import Done, Engine, Worker, config, diagnostics, schema
from rowlock.db import parse, postgres
from rowlock.db.statements import Statements, names
from rowlock.errors import InvalidUrl, SchemaMissing


def named(url: str, name: str) -> str:
    """The address with a schema."""
    return f"{url}{'&' if '?' in url else '?'}schema={name}"


@pytest.fixture
def apart(unmigrated_url: str) -> Iterator[Engine]:
    """An engine whose tables are in the schema `apart`; there are none in `public`."""
    with Engine(named(unmigrated_url, "apart")) as engine:
        engine.migrate()
        yield engine


def tables(url: str) -> set[str]:
    """The schemas that hold tables of ours."""
    with psycopg.connect(url) as connection:
        query = "select schemaname from pg_tables where tablename like 'rowlock\\_%'"
        return {name for (name,) in connection.execute(query)}


def test_migrate_creates_the_schema_with_all_tables(apart: Engine, unmigrated_url: str) -> None:
    assert tables(unmigrated_url) == {"apart"}
    assert schema.pending(apart.database) == []


def test_work_is_done_in_a_schema(apart: Engine) -> None:
    apart["names"].add([f"{number}" for number in range(20)])
    worker = Worker(apart)
    worker.on("names", lambda _: Done())
    worker.run(until="done")
    info = apart["names"].info()
    assert (info.counts.total, info.progress.done) == (0, 20)


def test_topics_work_in_a_schema(apart: Engine) -> None:
    comics = apart.topic("comics")
    comics.define(series="text")
    comics.subscribe("ann", {"series": "Saga"})
    comics.publish({"series": "Saga"})
    assert delivered(apart) == ["ann"]


def test_rows_and_rights_of_a_schema_are_checked(apart: Engine) -> None:
    apart["names"].add("a")
    assert apart.read(diagnostics.violations) == []
    assert {each.state for each in diagnostics.examine(apart.database, lambda: 0.0)} & {"unreachable"} == set()


@pytest.mark.parametrize(
    ("granted", "fix"),
    [
        ("usage on schema apart", "grant select, insert, update, delete on apart.rowlock_"),
        ("connect on database {}", "grant usage on schema apart to NAME"),
    ],
)
@pytest.mark.usefixtures("apart")
def test_missing_rights_in_a_schema_are_named(unmigrated_url: str, granted: str, fix: str) -> None:
    with psycopg.connect(unmigrated_url, autocommit=True) as connection:
        role = f"reader_of_{connection.info.dbname}"
        connection.execute(f"create role {role} login")
        connection.execute(f"grant {granted.format(connection.info.dbname)} to {role}")
    with Engine(named(unmigrated_url.replace("//postgres@", f"//{role}@"), "apart")) as engine:
        [found] = [each for each in diagnostics.examine(engine.database, lambda: 0.0) if each.name == "permissions"]
    assert found.fix.startswith(fix)


def test_two_schemas_of_one_database_are_apart(apart: Engine, unmigrated_url: str) -> None:
    with Engine(named(unmigrated_url, "other")) as other:
        other.migrate()
        apart["names"].add("a")
        assert (apart["names"].counts().total, other.lists()) == (1, [])


def test_one_transaction_publishes_to_two_schemas(apart: Engine, unmigrated_url: str) -> None:
    with Engine(named(unmigrated_url, "other")) as other:
        other.migrate()
        for engine in (apart, other):
            engine.topic("comics").define(series="text")
        for _ in range(5):
            apart.topic("comics").publish({"series": "Saga"})
        with psycopg.connect(unmigrated_url) as connection:
            for engine in (apart, other):
                engine.topic("comics").publish({"series": "Saga"}, using=connection)
        other.topic("comics").subscribe("late")
        assert delivered(other) == []


def delivered(engine: Engine) -> list[str]:
    """The subscribers of comics that are notified of what was published."""
    subscribers: list[str] = []
    worker = Worker(engine)
    engine.topic("comics").deliver(worker, lambda notification: subscribers.append(notification.subscriber))
    worker.run(until="done")
    return subscribers


def test_a_caller_with_another_search_path_is_joined_in_the_schema(apart: Engine, unmigrated_url: str) -> None:
    apart.topic("comics").define(series="text")
    with psycopg.connect(unmigrated_url) as connection:
        connection.execute("set search_path = pg_catalog")
        apart["names"].add("a", using=connection)
        apart.topic("comics").subscribe("ann", using=connection)
        connection.commit()
    assert (apart["names"].counts().total, apart.topic("comics").count()) == (1, 1)


def test_a_caller_with_another_search_path_is_joined_without_a_schema_too(postgres_url: str) -> None:
    with Engine(postgres_url) as engine, psycopg.connect(postgres_url) as connection:
        engine.topic("comics").define(series="text")
        connection.execute("create schema mine")
        connection.execute("set search_path = mine")
        engine["names"].add("a", using=connection)
        engine.topic("comics").subscribe("ann", using=connection)
        connection.commit()
        assert (engine["names"].counts().total, engine.topic("comics").count()) == (1, 1)


def test_every_function_has_a_search_path_of_its_own(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        functions = connection.execute(
            "select proname, proconfig from pg_proc where proname like 'rowlock%'"
        ).fetchall()
    assert functions
    assert [name for name, settings in functions if settings != ["search_path=public"]] == []


def test_notifications_of_a_schema_arrive(apart: Engine) -> None:
    listener = apart.database.clone(connections=1, listening=True)
    try:
        listener.wait_for_hint(0)
        apart.database.read(diagnostics.notify)
        assert listener.wait_for_hint(WAIT_SECONDS)
    finally:
        listener.close()


def test_a_schema_works_behind_a_pooler(apart: Engine, unmigrated_url: str, pgbouncer: PgBouncer) -> None:
    with Engine(named(pgbouncer.before(unmigrated_url), "apart")) as pooled:
        pooled["names"].add("a")
        with pooled.session() as session:
            claim = session.take("names")
            assert claim is not None
            assert [item.key for item in claim] == ["a"]


def test_statements_in_a_schema_name_it_and_give_the_same_columns() -> None:
    plain, apart = Statements(postgres.DIALECT), Statements(postgres.DIALECT, schema="apart")
    unqualified = [name for name in names() if " rowlock_" in apart.get(name).text]
    assert unqualified == []
    assert [name for name in names() if plain.columns(name) != apart.columns(name)] == []


@pytest.mark.parametrize("name", ["pg_mine", "information_schema", "", "Mine", "a-b", "a" * 56, "1a", 'a"b'])
def test_a_schema_that_cannot_be_used_is_refused(name: str) -> None:
    with pytest.raises(InvalidUrl, match="schema must"):
        Engine(f"postgresql://ann@db.example.org/work?schema={name}")


def test_a_file_has_no_schema() -> None:
    with pytest.raises(InvalidUrl, match="schema must be left out for a SQLite file"):
        Engine("sqlite:///work.db?schema=mine")


def test_a_schema_can_be_configured_beside_the_database(
    apart: Engine, unmigrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWLOCK_DATABASE_URL", unmigrated_url)
    monkeypatch.setenv("ROWLOCK_SCHEMA", "apart")
    apart["names"].add("a")
    with Engine() as engine:
        assert engine["names"].counts().total == 1
    assert parse(config.load({})["database"].value).schema == "apart"
    assert parse(config.load({"database": "work.db"})["database"].value).schema == ""


def test_a_configured_schema_is_valid_for_an_address_of_the_command_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWLOCK_SCHEMA", "apart")
    plain, named = "postgresql://other/work", "postgresql://other/work?schema=mine"
    schemas = [parse(config.load({"database": url})["database"].value).schema for url in (plain, named)]
    assert schemas == ["apart", "mine"]
    assert Engine(plain).database.address.schema == ""


def test_an_engine_takes_a_schema_beside_its_address() -> None:
    assert Engine("postgresql://other/work", schema="mine").database.address.schema == "mine"
    with pytest.raises(InvalidUrl, match="schema must be the one that the address names, 'a', got 'b'"):
        Engine("postgresql://other/work?schema=a", schema="b")


def test_the_hint_to_migrate_can_be_pasted(unmigrated_url: str) -> None:
    with Engine(unmigrated_url) as engine, pytest.raises(SchemaMissing) as raised:
        engine.lists()
    assert raised.value.hint == f"run: rowlock -d '{unmigrated_url}' migrate"


def test_the_hint_to_migrate_holds_no_password(unmigrated_url: str) -> None:
    user, at, rest = unmigrated_url.partition("@")
    with Engine(f"{user}:secret{at}{rest}") as engine, pytest.raises(SchemaMissing) as raised:
        engine.lists()
    assert raised.value.hint == f"set PGPASSWORD to the password, then run: rowlock -d '{unmigrated_url}' migrate"


def test_the_hint_to_migrate_the_configured_database_names_no_address(
    unmigrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, at, rest = unmigrated_url.partition("@")
    monkeypatch.setenv("ROWLOCK_DATABASE_URL", f"{user}:secret{at}{rest}")
    with Engine(f"{user}:secret{at}{rest}") as engine, pytest.raises(SchemaMissing) as raised:
        engine.lists()
    assert raised.value.hint == "run: rowlock migrate"
