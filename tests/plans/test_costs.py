"""What adding, claiming and settling cost: round trips, bytes of log, dead rows and pages, not time.

The bounds are what was measured, and a little room for bytes. A change that makes one of them worse fails here: raise
the bound only with a reason.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import psycopg
import pytest

from rowlock import Engine, Session
from rowlock.db.driver import DatabaseConnection
from rowlock.environment import Environment

TIMES = 9
BATCH = 100
FRAME_BYTES = 24 + 4096
PAGES_OF_AN_ADD = 6
TRIPS = ("autocommit", "begin", "change", "commit", "execute", "pipeline", "query", "rollback", "script")
POSITION = "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
CHANGED = "select sum(n_tup_upd + n_tup_del) from pg_stat_user_tables"
Connection = psycopg.Connection[tuple[Any, ...]]
Operation = Callable[[], object]


class Cost(msgspec.Struct, frozen=True):
    """What one operation costs, in the median."""

    trips: float
    wal: float
    dead: float


class Trips:
    """Counts the round trips of all connections that it wraps; what a pipeline sends is one."""

    def __init__(self) -> None:
        self.number = 0

    def wrap(self, connection: DatabaseConnection) -> Any:
        trips = self

        class Counting:
            def __getattr__(self, name: str) -> Any:
                step = getattr(connection, name)
                return partial(trips.count, step) if name in TRIPS else step

        return Counting()

    def count(self, step: Callable[..., Any], *args: Any, **options: Any) -> Any:
        self.number += 1
        return step(*args, **options)


@pytest.fixture
def trips() -> Trips:
    return Trips()


@pytest.fixture
def engine(postgres_url: str, trips: Trips) -> Iterator[Engine]:
    """An engine for which no time passes, so that no search for gaps is ever due."""
    with Engine(postgres_url, connections=1, wrap=trips.wrap, environment=Environment(monotonic=float)) as engine:
        engine["work"].add([f"first-{number:05d}" for number in range(20 * BATCH)])
        yield engine


@pytest.fixture
def by_hand(postgres_url: str) -> Iterator[Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(params=["", "pinned"])
def pinned(request: pytest.FixtureRequest, postgres_url: str) -> Iterator[bool]:
    """Without and with a transaction that sees what was there before, so that no dead row can be removed."""
    with psycopg.connect(postgres_url) as connection:
        if request.param:
            connection.execute("set transaction isolation level repeatable read")
            connection.execute("select count(*) from rowlock_lists")
        yield bool(request.param)


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    with engine.session() as session:
        yield session


def dead(engine: Engine, by_hand: Connection) -> int:
    """Rows that were changed or deleted so far, by the statistics of the only connection that does."""
    with engine.transaction() as tx:
        tx.execute("select pg_stat_force_next_flush()")
    [[number]] = by_hand.execute(CHANGED).fetchall()
    return int(number)


def cost(operation: Operation, engine: Engine, by_hand: Connection, trips: Trips) -> Cost:
    """Do it several times, after a first time that prepares its statements."""
    operation()
    dead_before, sent, logged = dead(engine, by_hand), [], []
    for _ in range(TIMES):
        before, trips.number = by_hand.execute(POSITION).fetchall()[0][0], 0
        operation()
        sent.append(trips.number)
        logged.append(float(by_hand.execute(POSITION).fetchall()[0][0] - before))
    return Cost(median(sent), median(logged), (dead(engine, by_hand) - dead_before) / TIMES)


def exceeded(found: Cost, bound: Cost) -> dict[str, tuple[float, float]]:
    """Where the cost is above its bound."""
    fields = {name: (getattr(found, name), getattr(bound, name)) for name in Cost.__struct_fields__}
    return {name: pair for name, pair in fields.items() if pair[0] > pair[1]}


BOUNDS = {
    "add": Cost(1, 660, 0),
    "add again": Cost(1, 100, 0),
    "add a hundred": Cost(5, 33_000, 0),
    "increment": Cost(1, 450, 1),
    "done": Cost(1, 350, 1),
    "show": Cost(1, 0, 0),
}


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("name", BOUNDS)
def test_an_item_costs_no_more_than_before(engine: Engine, by_hand: Connection, trips: Trips, name: str) -> None:
    work, numbers = engine["work"], count()
    operations: dict[str, Operation] = {
        "add": lambda: work.add(f"key-{next(numbers):05d}"),
        "add again": lambda: work.add("first-00000"),
        "add a hundred": lambda: work.add([f"key-{next(numbers):05d}" for _ in range(BATCH)]),
        "increment": lambda: work.increment(f"first-{next(numbers):05d}"),
        "done": lambda: work.done(f"first-{next(numbers):05d}"),
        "show": lambda: work.show("first-00000"),
    }
    assert exceeded(cost(operations[name], engine, by_hand, trips), BOUNDS[name]) == {}


@pytest.mark.usefixtures("pinned")
def test_settling_a_claim_and_making_the_next_costs_no_more_than_before(
    engine: Engine, session: Session, by_hand: Connection, trips: Trips
) -> None:
    claims = session.claim("work", limit=BATCH)
    current = next(claims)

    def settle_and_claim() -> None:
        nonlocal current
        for item in current:
            current.done(item)
        current = next(claims)

    found = cost(settle_and_claim, engine, by_hand, trips)
    assert exceeded(found, Cost(1, 6_900, BATCH + 1)) == {}


def test_an_add_writes_no_more_pages_of_a_file_than_before(sqlite_url: str) -> None:
    log, sizes = Path(f"{sqlite_url}-wal"), []
    with Engine(sqlite_url) as engine, closing(sqlite3.connect(sqlite_url)) as by_hand:
        engine["work"].add("first")
        by_hand.execute("pragma wal_checkpoint(truncate)")
        for number in range(TIMES):
            engine["work"].add(f"key-{number}")
            sizes.append(log.stat().st_size)
    pages = [(after - before) / FRAME_BYTES for before, after in pairwise(sizes)]
    assert median(pages) <= PAGES_OF_AN_ADD


def test_an_add_runs_no_more_statements_on_a_file_than_before(sqlite_url: str) -> None:
    statements: list[str] = []

    def traced(connection: Any) -> Any:
        connection._driver.set_trace_callback(statements.append)
        return connection

    with Engine(sqlite_url, wrap=traced) as engine:
        engine["work"].add("first")
        statements.clear()
        engine["work"].add("second")
    assert len(statements) == len(["begin", "wake", "item", "tally", "answer", "commit"])
