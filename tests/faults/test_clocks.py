"""Clocks that jump by an hour, of the database and of workers: nothing is lost or done twice, and work goes on."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.faults.clocks import JumpingClock, NoClock, jumping_clock
from tests.histories.checker import State, check
from tests.histories.reading import read
from tests.races.killing import ENDLESS, Gang, account, prepare, ranks, settled
from tests.servers import Server
from tests.torture import scaled
from tests.waiting import until

from rowlock import Engine

pytestmark = pytest.mark.torture

OFFSETS = (3600, 0, -3600, 20, -20, 0)
ROUNDS = scaled(1)
ITEMS_PER_JUMP = 100
# libfaketime spoils the sleep of Python 3.11 and newer, which waits for a moment of the monotonic clock.
OWN_SLEEP = """
import select
from rowlock.environment import Environment
engine = Engine(url, environment=Environment(sleep=lambda seconds: select.select([], [], [], seconds)))
"""


@pytest.fixture
def clock() -> Iterator[JumpingClock]:
    """A clock that a test sets."""
    try:
        with jumping_clock() as made:
            yield made
    except NoClock as why:
        pytest.skip(str(why))


def work_while_it_jumps(engine: Engine, clock: JumpingClock) -> int:
    """Let the clock jump whenever some more items are done; return how many items there were."""
    jumps = OFFSETS * ROUNDS
    for number, offset in enumerate(jumps):
        before = ranks(engine)[0]
        engine["work"].add(f"{number:03}-{item:06}" for item in range(ITEMS_PER_JUMP))
        until(lambda before=before: ranks(engine)[0] > before)
        clock.set(offset)
    until(lambda: engine["work"].counts().total == 0)
    return len(jumps) * ITEMS_PER_JUMP


@pytest.mark.parametrize(
    "whose",
    [
        pytest.param("worker", marks=pytest.mark.fault("clock of workers jumped", len(OFFSETS) * ROUNDS)),
        pytest.param("server", marks=pytest.mark.fault("clock of PostgreSQL jumped", len(OFFSETS) * ROUNDS)),
        pytest.param("machine", marks=pytest.mark.fault("clock under SQLite jumped", len(OFFSETS) * ROUNDS)),
    ],
)
def test_each_item_is_done_once_while_a_clock_jumps(
    clock: JumpingClock, whose: str, tmp_path: Path, sqlite_url: str
) -> None:
    history = tmp_path / "history"
    with ExitStack() as stack:
        if whose == "machine":
            url = sqlite_url
        else:
            server = Server(variables=clock.environment if whose == "server" else {}).start()
            stack.callback(server.remove)
            url = server.url()
        engine = stack.enter_context(Engine(url, history=history))
        engine.migrate()
        prepare(engine, 0)
        faked = {} if whose == "server" else clock.environment
        gang = Gang(url, OWN_SLEEP + ENDLESS, 2, ROWLOCK_HISTORY=str(history), **faked)
        items = work_while_it_jumps(engine, clock)
        gang.end()
        assert account(engine) == settled(items)
    assert check(read(history), State(present=0)) == []
