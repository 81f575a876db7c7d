"""A hundred thousand exclusive lists with work: what a worker remembers and what a look reads is bounded."""

from collections.abc import Iterator

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import Desk
from tests.verbs.test_leases import Passing, Seeker

from rowlock import Engine, leases
from rowlock.environment import Environment

pytestmark = pytest.mark.parametrize("dialect", ["sqlite", "postgres"])

MANY = 100_000
NUMBERS = {
    "sqlite": "with recursive n (i) as (select 1 union all select i + 1 from n where i < {0}) select i from n",
    "postgres": "select i from generate_series(1, {0}) as n (i)",
}


@pytest.fixture
def time(clock: Clock) -> Passing:
    return Passing(clock)


@pytest.fixture
def crowded(url: str, dialect: str, clock: Clock, time: Passing) -> Iterator[Engine]:
    numbers = NUMBERS[dialect].format(MANY)
    with Engine(url, clock=clock, environment=Environment(monotonic=time)) as engine, engine.transaction() as tx:
        tx.execute(
            "insert into rowlock_lists (name, settings, exclusive, wake_at) "
            f"select 'feeds/' || i, '{{\"exclusive\":true}}', 1 = 1, {clock.now} - i from ({numbers}) as numbers"
        )
        tx.execute("analyze rowlock_lists")
    with Engine(url, clock=clock, environment=Environment(monotonic=time)) as engine:
        yield engine


def plan(engine: Engine, name: str, **parameters: object) -> str:
    """How the database goes about a statement."""
    with engine.transaction() as tx:
        statement = tx._tx.statements.get(name).text
        word = "explain query plan" if engine.database.driver.dialect.names == ("sqlite",) else "explain"
        return "\n".join(str(row[-1]) for row in tx.execute(f"{word} {statement}", parameters).fetchall())


def test_a_session_has_so_many_lists_and_no_more(crowded: Engine) -> None:
    ann = Seeker(crowded)
    found = [ann.look() for _ in range(12)]
    assert found == [min(100 * each, leases.MAX_LISTS_PER_SESSION) for each in range(1, 13)]


def test_a_look_reads_free_lists_by_their_index(crowded: Engine, clock: Clock) -> None:
    Seeker(crowded).look()
    walked = plan(crowded, "leases/unleased_with_work", wake_at=0, after=0, limit=100, now=clock.now)
    assert "rowlock_lists_leasable" in walked
    assert "Sort" not in walked
    assert "TEMP B-TREE" not in walked


def test_lists_that_are_not_exclusive_are_found_by_an_index_without_the_others(crowded: Engine, clock: Clock) -> None:
    walked = plan(crowded, "lists/awake", wake_at=0, after=0, limit=100, now=clock.now)
    assert "rowlock_lists_awake" in walked
    assert "Sort" not in walked
    assert "TEMP B-TREE" not in walked


def test_lists_take_turns_where_there_are_too_many_for_all(crowded: Engine, time: Passing) -> None:
    ann = Seeker(crowded)
    for _ in range(10):
        ann.look()
    before = set(ann.leasing.held.names)
    for _ in range(8):
        time.pass_by(1)
        ann.look()
    after = set(ann.leasing.held.names)
    assert (len(after), len(before - after)) == (leases.MAX_LISTS_PER_SESSION, 400)


def test_taking_over_from_a_session_that_had_many_is_a_matter_of_pages(crowded: Engine) -> None:
    ann = Seeker(crowded)
    for _ in range(10):
        ann.look()
    ann.desk.close()
    crowded.upkeep()
    assert Desk(crowded).look(name="feeds/99999") is None
    assert Seeker(crowded).look() == 100
