"""Backups by pg_dump and pg_restore, as the page about backups says."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import TESTED
from tests.servers import Server, binaries_of

from rowlock import Engine, Worker
from rowlock.diagnostics import broken_rules


@pytest.fixture
def dump(postgres_url: str, tmp_path: Path) -> Callable[..., Path]:
    """Make a file of a database with a subscription and an item."""
    fill(postgres_url)

    def make(*options: str) -> Path:
        run("pg_dump", "--format=custom", *options, f"--file={tmp_path / 'work.dump'}", postgres_url)
        return tmp_path / "work.dump"

    return make


@pytest.fixture
def empty_url(postgres: Server) -> Iterator[str]:
    """The address of a database with nothing in it."""
    with postgres.connect() as connection:
        connection.execute("create database restored template template0")
        yield postgres.url("restored")
        connection.execute("drop database restored with (force)")


def fill(url: str) -> None:
    """Add an item and a subscription."""
    with Engine(url) as engine:
        engine.migrate()
        engine["mail"].add("ann")
        engine.topic("books").define(title="text")
        engine.topic("books").subscribe("ann", title="Saga")


def run(program: str, *arguments: str) -> int:
    """Run a program of PostgreSQL; return its exit status."""
    return subprocess.run([binaries_of(TESTED) / program, *arguments], check=False, capture_output=True).returncode


def restore(file: Path, url: str) -> int:
    """Restore a file as the page does."""
    return run("pg_restore", "--clean", "--if-exists", f"--dbname={url}", str(file))


def assert_whole(url: str) -> None:
    """Check that the item is there, and that the subscriber is notified of a new record."""
    told = []
    with Engine(url) as engine:
        assert engine.read(broken_rules) == []
        assert [item.key for item in engine["mail"]] == ["ann"]
        engine.topic("books").publish({"title": "Saga"})
        worker = Worker(engine)
        engine.topic("books").deliver(worker, lambda notification: told.append(notification.subscriber))
        worker.run(until="done")
    assert told == ["ann"]


def test_a_database_is_restored_into_an_empty_one(dump: Callable[..., Path], empty_url: str) -> None:
    assert restore(dump(), empty_url) == 0
    assert_whole(empty_url)


def test_a_backup_undoes_what_happened_since(dump: Callable[..., Path], postgres_url: str) -> None:
    file = dump()
    with Engine(postgres_url) as engine:
        engine["mail"].done("ann")
    assert restore(file, postgres_url) == 0
    assert_whole(postgres_url)


def test_tables_alone_are_restored_into_a_migrated_database(dump: Callable[..., Path], empty_url: str) -> None:
    file = dump("--table=rowlock_*")
    with Engine(empty_url) as engine:
        engine.migrate()
    assert restore(file, empty_url) == 0
    assert_whole(empty_url)


def test_functions_that_a_dump_of_tables_lacks_are_reported(dump: Callable[..., Path], empty_url: str) -> None:
    assert restore(dump("--table=rowlock_*"), empty_url) == 1
    with Engine(empty_url) as engine:
        assert engine.read(broken_rules) == [
            "the function rowlock_settled is missing, which topics need",
            "the function rowlock_take_turn is missing, which topics need",
        ]


def test_a_schema_of_its_own_is_restored(dump: Callable[..., Path], postgres_url: str, empty_url: str) -> None:
    fill(f"{postgres_url}&schema=jobs")
    assert restore(dump("--schema=jobs"), empty_url) == 0
    assert_whole(f"{empty_url}&schema=jobs")
