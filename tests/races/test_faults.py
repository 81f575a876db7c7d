"""Connections that break: an interruption, not an end; and what nobody can know is said."""

import threading
from collections.abc import Iterator
from functools import partial

import psycopg
import pytest
from tests.races.faults import Faulty, Once, raising
from tests.receivers import free_port
from tests.servers import Server
from tests.waiting import WAIT_SECONDS

from rowlock import Added, Engine
from rowlock.db.driver import ConnectionLost, RetryTransaction
from rowlock.environment import Environment
from rowlock.errors import (
    DatabaseBusy,
    DatabaseDenied,
    DatabaseUnreachable,
    NameTaken,
    OutcomeUnknown,
    Unavailable,
)

BUSY = DatabaseBusy("too many writers", "try again")
GONE = DatabaseUnreachable("the connection was lost", "check it")


def faulty(url: str, **arranged: object) -> Engine:
    return Engine(url, wrap=partial(Faulty, **arranged))


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server of the test's own, to be treated badly; with room for few connections."""
    few = {"max_connections": "8", "superuser_reserved_connections": "2"}
    server = Server(synchronous_commit="on", **few).start()
    with Engine(server.url()) as engine:
        engine.migrate()
    yield server
    server.remove()


def test_a_conflict_is_run_again(url: str) -> None:
    conflicts = Once(raising(RetryTransaction(BUSY)), at=3)
    with faulty(url, before_commit=conflicts) as engine:
        engine.make_ready()
        added = [engine["work"].add(key) for key in "abcd"]
        assert (added, engine["work"].counts().ready) == ([Added(1, 0)] * 4, 4)


def test_a_long_add_is_run_again_whole(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add("before")
    with faulty(url, before_commit=Once(raising(RetryTransaction(BUSY)))) as engine:
        keys = (f"{number}" for number in range(25_000))
        assert (engine["work"].add(keys), engine["work"].counts().ready) == (Added(25_000, 0), 25_001)


def test_a_connection_lost_before_commit_is_run_again(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add("before")
    with faulty(url, before_change=Once(raising(ConnectionLost(GONE)), at=3)) as engine:
        engine["work"].add("a")
        engine["work"].increment(["a", "before"])
        assert [item.attempts for item in engine["work"]] == [1, 1]


def test_a_conflict_without_end_ends_with_patience(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add("before")
    time = iter(range(1000))
    environment = Environment(monotonic=lambda: float(next(time)), sleep=lambda _: None)
    always = partial(Faulty, before_commit=lambda _: raising(RetryTransaction(BUSY))())
    with Engine(url, wrap=always, environment=environment, patience=10) as engine, pytest.raises(DatabaseBusy):
        engine["work"].add(["a", "b"])


def test_a_connection_lost_at_commit_leaves_the_outcome_unknown(postgres_url: str) -> None:
    with Engine(postgres_url) as engine:
        engine["work"].add("before")
    with faulty(postgres_url, before_commit=Once(partial(end_others, postgres_url))) as engine:
        with pytest.raises(OutcomeUnknown):
            engine["work"].add(["a", "b"])
        assert (engine["work"].add(["a", "b"]), engine["work"].counts().ready) == (Added(2, 0), 3)


def end_others(url: str) -> None:
    """Cut every other connection to the database, as an administrator does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )


def test_a_connection_lost_after_commit_is_not_run_again(url: str) -> None:
    unknown = OutcomeUnknown("broke at commit", "look before you ask again")
    with Engine(url) as engine:
        engine["work"].add("a")
    with faulty(url, after_commit=Once(raising(unknown))) as engine:
        with pytest.raises(OutcomeUnknown):
            engine["work"].increment(["a", "b"])
        assert engine["work"].show("a").attempts == 1


def test_an_idle_connection_that_was_cut_is_replaced(postgres_url: str) -> None:
    with Engine(postgres_url) as engine:
        engine["work"].add("a")
        end_others(postgres_url)
        assert engine["work"].add("b") == Added(1, 0)
        end_others(postgres_url)
        assert [item.key for item in engine["work"]] == ["a", "b"]


def test_a_cut_in_a_transaction_of_the_callers_own_is_told(postgres_url: str) -> None:
    with Engine(postgres_url) as engine:
        engine["work"].add("a")
        with pytest.raises(DatabaseUnreachable), engine.transaction() as tx:
            tx["work"].add("b", data=end_others(postgres_url))
        assert [item.key for item in engine["work"]] == ["a"]


def test_a_server_that_crashes_and_comes_back_is_an_interruption(own_server: Server) -> None:
    with Engine(own_server.url()) as engine:
        engine["work"].add("before")
        stop = threading.Event()
        adding = Adding(engine, stop)
        adding.start()
        adding.reach(20)
        own_server.kill()
        own_server.start()
        adding.reach(adding.number + 20)
        own_server.stop()
        own_server.start()
        adding.reach(adding.number + 20)
        stop.set()
        adding.join()
        there = {item.key for item in engine["work"]}
        assert (adding.broken, adding.sure - there) == ([], set())


class Adding(threading.Thread):
    """Adds key after key; asks again where the outcome was unknown."""

    def __init__(self, engine: Engine, stop: threading.Event) -> None:
        super().__init__()
        self._engine = engine
        self._stopped = stop
        self._moved = threading.Condition()
        self.number = 0
        self.sure: set[str] = set()
        self.broken: list[Exception] = []

    def run(self) -> None:
        while not self._stopped.is_set() and not self.broken:
            self._add(f"key-{self.number}")
            with self._moved:
                self.number += 1
                self._moved.notify_all()

    def _add(self, key: str) -> None:
        try:
            self._engine["work"].add(key)
            self.sure.add(key)
        except OutcomeUnknown:
            pass
        except Exception as error:
            self.broken.append(error)

    def reach(self, number: int) -> None:
        """Wait until so many have been asked for."""
        with self._moved:
            self._moved.wait_for(lambda: self.number >= number or self.broken, timeout=WAIT_SECONDS)


def test_a_server_without_room_is_told_from_a_wrong_password(own_server: Server) -> None:
    with own_server.connect() as connection:
        connection.execute("create role guest login")
    url = own_server.url().replace("postgres@", "guest@")
    guests = [psycopg.connect(url) for _ in range(6)]
    with Engine(url) as engine, pytest.raises(Unavailable) as error:
        engine.lists()
    for guest in guests:
        guest.close()
    assert not isinstance(error.value, DatabaseDenied)


def test_a_server_without_room_is_waited_for(own_server: Server) -> None:
    with own_server.connect() as connection:
        connection.execute("create role guest login in role pg_read_all_data")
    url = own_server.url().replace("postgres@", "guest@")
    with Engine(url, environment=Environment(sleep=lambda _: guests.pop().close())) as engine:
        engine.lists()
        end_others(own_server.url())
        guests = [psycopg.connect(url) for _ in range(6)]
        assert engine.lists() == []
    for guest in guests:
        guest.close()


def test_a_database_that_is_not_there_is_told_at_once(own_server: Server) -> None:
    with Engine(own_server.url("nowhere")) as engine, pytest.raises(DatabaseUnreachable, match="no such database"):
        engine.lists()


def test_a_user_that_is_not_there_is_told_at_once(own_server: Server) -> None:
    url = own_server.url().replace("postgres@", "nobody-we-know@")
    with Engine(url) as engine, pytest.raises(DatabaseDenied):
        engine.lists()


def test_options_of_the_address_come_before_our_own(postgres_url: str) -> None:
    opened = []
    url = f"{postgres_url}&connect_timeout=3&application_name=mine&tcp_user_timeout=2000"
    with Engine(url, wrap=lambda connection: opened.append(connection) or connection) as engine:
        engine.lists()
        given = opened[0]._driver.info.get_parameters()
    assert [given[name] for name in ("connect_timeout", "application_name", "tcp_user_timeout")] == [
        "3",
        "mine",
        "2000",
    ]


def test_both_ends_of_a_connection_give_up_a_network_that_says_nothing() -> None:
    asked = "select current_setting('tcp_user_timeout'), current_setting('tcp_keepalives_idle')"
    port = free_port()
    server = Server(listen_addresses="127.0.0.1", port=str(port)).start()
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    with Engine(url) as engine, Engine(f"{url}?tcp_user_timeout=2000") as quick:
        engine.migrate()
        found = [each.read(lambda tx: tx.execute(asked).fetchone()) for each in (engine, quick)]
    server.remove()
    assert found == [("10000", "5"), ("2000", "5")]


def test_serialisation_conflicts_are_run_again(postgres_url: str) -> None:
    with Engine(f"{postgres_url}&isolation=serializable") as engine:
        engine["work"].add("shared")
        threads = [threading.Thread(target=hammer, args=(engine,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (engine["work"].show("shared").attempts, engine["work"].progress().retried) == (100, 100)


def hammer(engine: Engine) -> None:
    for _ in range(25):
        engine["work"].increment("shared")


def test_a_list_made_and_dropped_by_others_while_we_enter_it_is_made_again(postgres_url: str) -> None:
    with Engine(postgres_url) as other:
        other.lists()

        def make_it() -> None:
            other["work"].add("theirs")

        def drop_it() -> None:
            other["work"].drop()

        arranged = {"before_change": Once(make_it), "after_change": Once(drop_it)}
        with faulty(postgres_url, **arranged) as engine:
            assert engine["work"].add("ours") == Added(1, 0)
            assert [item.key for item in engine["work"]] == ["ours"]


def test_a_name_taken_in_the_last_moment_is_told(url: str) -> None:
    with Engine(url) as other:
        other["theirs"].add("a")
        other["ours"].add("a")
        taking = Once(lambda: other["theirs"].rename("common"), at=RENAMES[other.database.address.dialect])
        with faulty(url, before_begin=taking, before_change=taking) as engine, pytest.raises(NameTaken):
            engine["ours"].rename("common")


# A file has one writer, so there the last moment is the beginning.
RENAMES = {"sqlite": 1, "postgres": 2, "cockroach": 2}


def test_counts_that_are_read_while_others_write_are_never_negative(url: str) -> None:
    with Engine(url) as other:
        other["work"].add("a", due="1h")

        def write() -> None:
            other["work"].add([f"{number}" for number in range(10)], due=0.001)
            other["work"].done("a")

        for moment in (1, 2, 3, 4):
            with faulty(url, before_query=Once(write, at=moment)) as engine:
                counts = engine["work"].counts()
                assert min(counts.ready, counts.delayed) >= 0
