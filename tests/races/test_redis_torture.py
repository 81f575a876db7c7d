"""Redis killed, wiped, emptied, put back to an old snapshot and failed over while processes take numbers, and die."""

import random
from collections.abc import Sequence

import pytest
from tests.races.counting import Counting
from tests.redis_servers import Front, RedisServer
from tests.torture import scaled

from rowlock import Engine

TAKING = """
from rowlock import RedisCounters
counters = RedisCounters(engine, sys.argv[2], block=int(sys.argv[3]), fallback="database", timeout=30)

def take(number):
    counter = counters.counter("hot")
    while True:
        say(counter.next())
        say(*counter.take(3))
crowd(take, threads=2)
"""
LINES = 40


EACH = ("snapshot", "crash", "lose", "empty", "fail_over", "snapshot", "crash", "fail_back")


class Abuse:
    """Two servers behind one address, and what can be done to them while processes take numbers."""

    def __init__(self, url: str, *, block: int, processes: int) -> None:
        with Engine(url) as engine:
            engine.make_ready()
        self.server, self.spare = RedisServer().start(), RedisServer().start()
        self.front = Front(self.server)
        self.counting = Counting(TAKING, url, self.front.url, str(block), processes=processes)

    def go_on(self) -> None:
        """Numbers are taken."""
        self.counting.hear(LINES)

    def crash(self) -> None:
        self.server.kill()
        self.server.start()

    def lose(self) -> None:
        self.server.kill()
        self.server.wipe()
        self.server.start()

    def empty(self) -> None:
        self.server.say("flushall")

    def snapshot(self) -> None:
        self.server.say("save")

    def fail_over(self) -> None:
        """The spare one, which has not followed to the end, takes over."""
        self._leave_behind()
        self.server, self.spare = self.spare, self.server
        self.front.turn_to(self.server)

    def fail_back(self) -> None:
        """The server comes back with the past of the spare one."""
        self._leave_behind()
        self.server.follow(self.spare)
        self.server.lead()

    def _leave_behind(self) -> None:
        self.spare.follow(self.server)
        self.go_on()
        self.spare.lead()
        self.go_on()

    def end(self) -> list[int]:
        said = self.counting.end()
        self.front.close()
        self.server.remove()
        self.spare.remove()
        return said


def run(url: str, ways: Sequence[str], *, block: int, processes: int) -> list[int]:
    abuse = Abuse(url, block=block, processes=processes)
    try:
        for number, way in enumerate(ways):
            abuse.go_on()
            getattr(abuse, way)()
            if number % 3 == 2:
                abuse.counting.replace_one()
        abuse.go_on()
    finally:
        said = abuse.end()
    return said


@pytest.mark.parametrize("dialect", [pytest.param("sqlite", marks=pytest.mark.torture), "postgres"])
def test_whatever_becomes_of_redis_no_number_comes_twice(url: str) -> None:
    said = run(url, EACH, block=20_000, processes=3)
    assert len(said) >= len(EACH) * 3 * LINES
    assert len(set(said)) == len(said)


@pytest.mark.torture
@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
@pytest.mark.parametrize("block", [20, 1_000, 100_000])
@pytest.mark.fault("Redis killed, stopped, emptied or replaced", scaled(60))
def test_whatever_becomes_of_redis_for_long_no_number_comes_twice(url: str, block: int) -> None:
    ways = random.Random(block).choices(EACH, k=scaled(60))
    said = run(url, ways, block=block, processes=8)
    assert len(set(said)) == len(said)
