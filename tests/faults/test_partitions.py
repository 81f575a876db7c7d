"""The network between machines drops everything: work goes on elsewhere, and nothing is lost or done twice."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.faults.networks import SERVER_ADDRESS, Network, NoNetwork, network
from tests.histories.checker import State, check
from tests.histories.reading import read
from tests.races.killing import Gang, account, at_work, ranks, settled
from tests.servers import NoServer, Server
from tests.torture import scaled
from tests.waiting import until

from rowlock import Engine
from rowlock.diagnostics import broken_rules

pytestmark = pytest.mark.torture

CUTS = scaled(3)
ITEMS_PER_CUT = 300
MAX_RESUME_SECONDS = 30
# A transaction is open for most of the time, so a cut finds one.
WORKING = """
import time
worker = Worker(engine, concurrency=2, expiry="2s")

@worker.on("work", batch=20, attempts=1000)
def handle(items, tx):
    tx.executemany(f"insert into ranks (key) values ({sign})", [(item.key,) for item in items])
    time.sleep(0.2)

worker.run(until=os.environ.get("UNTIL", "stopped"))
"""


@pytest.fixture
def between() -> Iterator[Network]:
    """Two machines that can be cut off from each other."""
    try:
        with network() as made:
            yield made
    except NoNetwork as why:
        pytest.skip(str(why))


REMOTE = """
from rowlock import Client
worker = Worker(Client(os.environ["SERVER"], timeout=2, token=os.environ["TOKEN"]), concurrency=2, expiry="2s")
worker.on("work", attempts=1000)(lambda item: None)
worker.run()
"""
PORT = "8642"


@contextmanager
def service(between: Network, url: str) -> Iterator[None]:
    """The HTTP service on the server's machine."""
    command = [*between.server, sys.executable, "-m", "rowlock", "-q", "serve", "--no-access-log"]
    environment = {**os.environ, "ROWLOCK_DATABASE_URL": url}
    with subprocess.Popen([*command, "--host", SERVER_ADDRESS, "--port", PORT], env=environment) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.fault("remote worker cut off from the service", CUTS)
def test_each_item_is_settled_once_by_remote_workers_that_are_cut_off(between: Network, sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine:
        engine["work"].add("first")
        secret = {"SERVER": f"http://{SERVER_ADDRESS}:{PORT}", "TOKEN": engine.tokens.create("worker").text}
        with service(between, sqlite_url):
            far = Gang(sqlite_url, REMOTE, 2, inside=between.worker, **secret)
            for number in range(CUTS):
                engine["work"].add(f"{number:03}-{item:06}" for item in range(ITEMS_PER_CUT))
                until(lambda: at_work(engine))
                between.cut()
                until(lambda: not engine.sessions())  # the service ends those that send no heartbeat
                between.heal()
                until(lambda: engine["work"].counts().total == 0)
            far.end()
        assert engine["work"].progress().done == CUTS * ITEMS_PER_CUT + 1
        assert engine.read(broken_rules) == []


@pytest.fixture
def server(between: Network) -> Iterator[Server]:
    """A PostgreSQL on one of the machines; its socket can be reached from all."""
    try:
        made = Server(inside=between.server, listen_addresses=SERVER_ADDRESS, synchronous_commit="on")
    except NoServer as why:
        pytest.skip(str(why))
    with (made.data / "pg_hba.conf").open("a") as rules:
        rules.write("host all all 198.18.0.0/16 trust\n")
    with Engine(made.start().url()) as engine:
        engine.migrate()
        with engine.transaction() as tx:
            tx.execute("create table ranks (key varchar(20) primary key)")
    yield made
    made.remove()


def cut_off(between: Network, engine: Engine, number: int, history: Path) -> float:
    """Cut off the far workers while they work; return how many seconds after the end of that they work again."""
    engine["work"].add(f"{number:03}-{item:06}" for item in range(ITEMS_PER_CUT))
    until(lambda: at_work(engine))
    between.cut()
    near = Gang(engine.database.address.target, WORKING, 1, UNTIL="done", ROWLOCK_HISTORY=str(history))
    assert near.wait() == [0]
    between.heal()
    healed_at, found = time.monotonic(), ranks(engine)[0]
    engine["work"].add(f"{number:03}-{item:06}" for item in range(ITEMS_PER_CUT, 2 * ITEMS_PER_CUT))
    until(lambda: ranks(engine)[0] > found)
    return time.monotonic() - healed_at


@pytest.mark.fault("worker cut off from PostgreSQL", CUTS)
def test_others_do_the_work_of_a_worker_that_is_cut_off_from_the_database(
    between: Network, server: Server, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    history = tmp_path / "history"
    url = f"postgresql://postgres@{SERVER_ADDRESS}/postgres"
    far = Gang(url, WORKING, 2, inside=between.worker, ROWLOCK_HISTORY=str(history))
    with Engine(server.url(), history=history) as engine:
        took = [cut_off(between, engine, number, history) for number in range(CUTS)]
        until(lambda: engine["work"].counts().total == 0)
        far.end()
        assert account(engine) == settled(CUTS * 2 * ITEMS_PER_CUT)
    assert check(read(history), State(present=0)) == []
    record_property("seconds until work went on after a network was whole again", max(took))
    assert max(took) <= MAX_RESUME_SECONDS
