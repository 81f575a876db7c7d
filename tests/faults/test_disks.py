"""Disks that lose power, fill up and fail: what was confirmed is there, nothing is done twice, and work goes on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest
from tests.faults.disks import Disk, NoDisk, disk
from tests.histories.checker import State, check
from tests.histories.reading import read
from tests.races.killing import ENDLESS, Gang, account, prepare, ranks, settled
from tests.servers import NoServer, Server
from tests.torture import scaled
from tests.waiting import until

from rowlock import Engine
from rowlock.errors import OutcomeUnknown, Unavailable

pytestmark = pytest.mark.torture

SAFE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
POWER_CUTS = scaled(12)
ITEMS_PER_CUT = 200
FAILURES = scaled(3)


@pytest.fixture
def place() -> Iterator[Disk]:
    """A disk of the test's own."""
    try:
        with disk() as made:
            yield made
    except NoDisk as why:
        pytest.skip(str(why))


def started(place: Disk, **settings: str) -> Server:
    """A PostgreSQL whose data lie on that disk, with our tables."""
    try:
        server = Server(disk=place.folder, **settings)
    except NoServer as why:
        pytest.skip(str(why))
    place.flush()  # the files of a new server are made without that, to be quick
    server.start()
    with Engine(server.url()) as engine:
        engine.migrate()
    return server


def cut_power(server: Server, place: Disk, seed: int) -> int:
    """End all processes of a server at one moment, and forget what was not flushed; return how many sectors that is."""
    main = psutil.Process(server.pid)
    main.suspend()  # it would start others for those that are gone
    family = main.children(recursive=True)
    for process in family:
        process.kill()
    server.kill()
    psutil.wait_procs(family)
    return place.cut_power(seed)


def make_checkpoint(server: Server) -> None:
    """Let the server write all its pages, which a power cut may interrupt."""
    with suppress(psycopg.Error), server.connect() as connection:
        connection.execute("checkpoint")


@pytest.mark.fault("power cut under PostgreSQL", POWER_CUTS)
def test_confirmed_work_survives_power_cuts_under_postgresql(place: Disk, tmp_path: Path) -> None:
    server, history, lost = started(place, **SAFE), tmp_path / "history", 0
    try:
        with Engine(server.url(), history=history) as engine:
            prepare(engine, 0)
            gang = Gang(server.url(), ENDLESS, 2, ROWLOCK_HISTORY=str(history))
            for number in range(POWER_CUTS):
                enough = ranks(engine)[0] + 37 * number % ITEMS_PER_CUT
                engine["work"].add(f"{number:03}-{item:06}" for item in range(ITEMS_PER_CUT))
                until(lambda enough=enough: ranks(engine)[0] > enough)
                checkpoint = threading.Thread(target=make_checkpoint, args=(server,))
                checkpoint.start()
                lost += cut_power(server, place, number)
                checkpoint.join()
                server.start()
            until(lambda: engine["work"].counts().total == 0)
            gang.end()
            assert account(engine) == settled(POWER_CUTS * ITEMS_PER_CUT)
            assert check(read(history), State(present=0)) == []
    finally:
        server.remove()
    assert lost > 0


def test_a_server_that_confirms_before_it_flushes_is_caught(place: Disk) -> None:
    server = started(place, **(SAFE | {"synchronous_commit": "off", "wal_writer_delay": "10s"}))
    try:
        with Engine(server.url()) as engine:
            for number in range(50):
                engine["work"].add(f"{number}")
            cut_power(server, place, 1)
            server.start()
            assert "work" not in [each.name for each in engine.lists()] or engine["work"].counts().total < 50
    finally:
        server.remove()


BREAKING: tuple[Callable[[Disk], None], ...] = (
    lambda place: place.fill(20_000),
    lambda place: place.fail("fsync"),
    lambda place: place.fail("write"),
)


class Ledger:
    """Adds keys while a disk fails, and remembers which were confirmed and which may be there."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._number = 0
        self.sure: set[str] = set()
        self.unsure: set[str] = set()

    def add(self) -> bool:
        """Add a key; return whether it was confirmed."""
        key = f"{self._number:06}"
        self._number += 1
        try:
            self._engine["work"].add(key, data="x" * 500)
        except OutcomeUnknown:
            self.unsure.add(key)
            return False
        except Unavailable:
            return False
        self.sure.add(key)
        return True


def wait_for(ledger: Ledger, server: Server | None) -> None:
    """Wait until the database takes a key; start its server again if the fault has ended that."""

    def answers() -> bool:
        if server is not None and server.has_ended:
            server.kill()
            server.start()
        return ledger.add()

    until(answers)


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
@pytest.mark.fault("disk full", FAILURES)
@pytest.mark.fault("flush that fails", FAILURES)
@pytest.mark.fault("write that fails", FAILURES)
def test_confirmed_work_survives_a_disk_that_fails(place: Disk, database: str, tmp_path: Path) -> None:
    server = started(place, **SAFE) if database == "postgres" else None
    url, history = server.url() if server else str(place.folder / "work.db"), tmp_path / "history"
    try:
        with Engine(url, patience=1, history=history) as engine:
            prepare(engine, 0)
            gang, ledger = Gang(url, ENDLESS, 2, ROWLOCK_HISTORY=str(history)), Ledger(engine)
            for number in range(FAILURES * len(BREAKING)):
                for _ in range(20):
                    ledger.add()
                BREAKING[number % len(BREAKING)](place)
                until(lambda: not ledger.add())
                place.mend()
                wait_for(ledger, server)
                assert gang.replace_dead() == 0
            until(lambda: engine["work"].counts().total == 0)
            gang.end()
            worked = {key for (key,) in engine.read(lambda tx: tx.execute("select key from ranks").fetchall())}
            assert ledger.sure <= worked <= ledger.sure | ledger.unsure
            assert account(engine) == settled(len(worked))
            assert check(read(history), State(present=0)) == []
    finally:
        if server is not None:
            server.remove()
