"""Database addresses: read, refused, and shown without their secrets."""

from pathlib import Path

import pytest
from tests.servers import Server

from rowlock import Engine
from rowlock.db import parse
from rowlock.errors import InvalidUrl, RowlockError

SECRET = "s3cr3t"
SHOWN = {
    "postgresql://ann:s3cr3t@host/db": "postgresql://ann:***@host/db",
    "postgres://ann:s3cr3t@host:5433/db": "postgres://ann:***@host:5433/db",
    "postgresql+psycopg://ann:s3cr3t@host/db": "postgresql+psycopg://ann:***@host/db",
    "cockroachdb://ann:s3cr3t@host:26257/db": "cockroachdb://ann:***@host:26257/db",
    "POSTGRESQL://ann:s3cr3t@host/db": "postgresql://ann:***@host/db",
    "postgresql://ann:p%40s3cr3t@host/db": "postgresql://ann:***@host/db",
    "postgresql://ann:p@s3cr3t@host/db": "postgresql://ann:***@host/db",
    "postgresql://ann:a:s3cr3t@host/db": "postgresql://ann:***@host/db",
    "postgresql://:s3cr3t@host/db": "postgresql://:***@host/db",
    "postgresql://ann@host/db?password=s3cr3t": "postgresql://ann@host/db?password=***",
    "postgresql://ann@host/db?pass%77ord=s3cr3t": "postgresql://ann@host/db?password=***",
    "postgresql:///db?user=ann&password=s3cr3t&host=/run": "postgresql:///db?user=ann&password=***&host=/run",
    "postgresql://ann@host/db?sslpassword=s3cr3t": "postgresql://ann@host/db?sslpassword=***",
    "postgresql://ann:s3cr3t@one:5432,two:5433/db": "postgresql://ann:***@one:5432,two:5433/db",
}
TORN = [
    "postgresql://ann:12/s3cr3t@host/db",
    "postgresql://ann:12?s3cr3t@host/db",
    "postgresql://ann:12#s3cr3t@host/db",
    "postgresql://ann:s3cr3t/12@host/db",
    "postgresql://ann:s3cr3t[@host/db",
    "postgresql:ann:s3cr3t@host/db",
    "postgresql:/ann:s3cr3t@host/db",
    "host=localhost password=s3cr3t",
    "dbname=work user=ann password = 's3cr3t'",
    "mysql://ann:s3cr3t@host/db",
    "postgresql://ann:s3cr3t@host:port/db",
    "postgresql://ann:s3cr3t@host/db?isolation=none",
]


@pytest.mark.parametrize("url", SHOWN)
def test_an_address_is_shown_without_its_secrets(url: str) -> None:
    assert parse(url).shown == SHOWN[url]


@pytest.mark.parametrize("url", SHOWN)
def test_an_address_keeps_its_secrets_for_the_driver(url: str) -> None:
    assert SECRET in parse(url).target


@pytest.mark.parametrize("url", TORN)
def test_an_address_that_cannot_be_read_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidUrl) as refusal:
        parse(url)
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize("url", ["", "  ", "a\0b", ":memory:", "sqlite://", "sqlite:///", "sqlite://work.db", "://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidUrl):
        parse(url)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("work.db", "work.db"),
        ("/var/lib/work.db", "/var/lib/work.db"),
        ("sqlite:///work.db", "work.db"),
        ("sqlite:////var/work.db", "/var/work.db"),
        ("sqlite:///with%20space.db?mode=ro", "with space.db"),
        ("a b/é.db", "a b/é.db"),
    ],
)
def test_a_path_is_a_sqlite_file(url: str, path: str) -> None:
    assert (parse(url).dialect, parse(url).target) == ("sqlite", path)


@pytest.mark.parametrize("spelling", ["serializable", "SERIALIZABLE"])
def test_isolation_is_read_from_the_address(spelling: str) -> None:
    address = parse(f"postgresql://host/db?isolation={spelling}&sslmode=disable")
    assert (address.isolation, address.target) == ("serializable", "postgresql://host/db?sslmode=disable")


@pytest.mark.parametrize("spelling", ["read-committed", "read_committed", "read%20committed", "Read+Committed"])
def test_isolation_of_two_words_may_be_spelt_in_several_ways(spelling: str) -> None:
    assert parse(f"postgresql://host/db?isolation={spelling}").isolation == "read committed"


def test_repeatable_read_is_refused() -> None:
    with pytest.raises(InvalidUrl, match="isolation must be read committed or serializable"):
        parse("postgresql://host/db?isolation=repeatable-read")


@pytest.mark.parametrize("mode", ["auto", "session", "transaction", "Transaction"])
def test_the_mode_of_a_pooler_is_read_from_the_address(mode: str) -> None:
    address = parse(f"postgresql://host/db?pooler={mode}&sslmode=disable")
    assert (address.pooler, address.target) == (mode.lower(), "postgresql://host/db?sslmode=disable")


def test_a_command_to_copy_names_another_database_than_the_default_one() -> None:
    assert [parse(url).option for url in ("rowlock.db", "a b.db")] == ["", "-d 'a b.db' "]
    assert parse("postgresql://ann:hush@host/db").option == "-d postgresql://ann@host/db "


def test_a_pooler_of_another_mode_is_refused() -> None:
    with pytest.raises(InvalidUrl, match="pooler must be auto, session or transaction, got 'statement'"):
        parse("postgresql://host/db?pooler=statement")


@pytest.mark.parametrize(
    ("url", "listen_url"),
    [
        ("work.db", "postgresql://host/db"),
        ("postgresql://host/db", "work.db"),
        ("cockroachdb://host/db", "cockroachdb://host/db"),
    ],
)
def test_an_address_to_listen_at_is_one_of_postgresql(url: str, listen_url: str) -> None:
    with pytest.raises(InvalidUrl, match="listen_url must be for a PostgreSQL server"):
        Engine(url, listen_url=listen_url)


def test_an_address_to_listen_at_is_shown_without_its_secrets() -> None:
    with pytest.raises(InvalidUrl) as refusal:
        Engine("work.db", listen_url="postgresql://ann:s3cr3t@host/db")
    assert SECRET not in str(refusal.value)


def test_the_environments_address_to_listen_at_belongs_to_its_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWLOCK_DATABASE_URL", "postgresql://pooler/db")
    monkeypatch.setenv("ROWLOCK_LISTEN_URL", "postgresql://server/db")
    listens = [Engine().database.address.listen, Engine("postgresql://other/db").database.address.listen]
    assert [each and each.target for each in listens] == ["postgresql://server/db", None]


def test_options_reach_the_server_as_they_were_written(postgres: Server) -> None:
    url = f"{postgres.url()}&options=-c%20application_name%3Da%2Bb%20-c%20search_path%3Dmine"
    with Engine(url) as engine, engine.database.transaction() as tx:
        assert tx.execute("show search_path").fetchone() == ("mine",)


@pytest.mark.parametrize(
    "url", ["postgresql://ann:s3cr3t@localhost:1/db", "postgresql://ann@localhost:1/db?password=s3cr3t"]
)
def test_an_error_about_a_server_does_not_repeat_its_password(url: str) -> None:
    with Engine(url) as engine, pytest.raises(RowlockError) as error:
        engine.lists()
    assert SECRET not in f"{error.value!r} {error.value} {error.value.fields} {engine!r}"


def test_a_path_is_an_address(tmp_path: Path) -> None:
    with Engine(tmp_path / "work.db") as engine:
        engine["work"].add("a")
    assert (tmp_path / "work.db").exists()


@pytest.mark.parametrize("wrong", [7, b"work.db", ["work.db"]])
def test_what_is_neither_text_nor_a_path_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidUrl, match="text or a path"):
        Engine(wrong)  # type: ignore[arg-type]


def test_two_schemas_are_refused() -> None:
    with pytest.raises(InvalidUrl, match="schema must be given once"):
        parse("postgresql://host/db?schema=one&schema=two")
