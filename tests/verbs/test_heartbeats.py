"""Sessions while the database's clock jumps: the living keep their work, the dead lose it in time."""

from collections.abc import Callable

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EXPIRY, Desk

from rowlock import Engine, sessions, upkeep
from rowlock.heartbeats import HeartbeatMonitor

pytestmark = pytest.mark.parametrize("dialect", ["sqlite", "postgres"])

DAY = 86_400
BEAT_SECONDS = EXPIRY // 3_000
LONGEST = 17
"""Seconds after its last heartbeat within which a dead session's items are free, by default."""
LONGEST_AFTER_A_JUMP_BACK = 23


class Monotonic:
    """Seconds of an observer, which no jump of the database's clock moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Observer:
    """A process that keeps house, second by second, and has a clock of its own."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._monotonic = Monotonic()
        self._monitor = HeartbeatMonitor(self._monotonic)

    def look(self) -> int:
        """Expire the sessions that are dead; how many."""
        return upkeep.expire(self._engine.database, self._monitor)

    def watch(self, seconds: int, *each_second: Callable[[int], object]) -> list[int]:
        """Let so many seconds pass; in which of them a session was expired."""
        expired = []
        for second in range(1, seconds + 1):
            self._monotonic.now += 1
            self._clock.advance(1)
            for act in each_second:
                act(second)
            expired += [second] * self.look()
        return expired


@pytest.fixture
def observer(timed: Engine, clock: Clock) -> Observer:
    return Observer(timed, clock)


def beating(desk: Desk) -> Callable[[int], object]:
    return lambda second: second % BEAT_SECONDS == 0 and desk.beat()


def at(second: int, act: Callable[[], object]) -> Callable[[int], object]:
    return lambda now: now == second and act()


@pytest.mark.parametrize("jump", [16, 60, DAY, -16, -DAY])
def test_a_session_that_beats_survives_a_jump_of_the_clock(
    timed: Engine, clock: Clock, observer: Observer, jump: int
) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    taken = ann.got()
    jumps = [at(second, lambda: clock.advance(jump)) for second in (3, 11, 20)]
    assert observer.watch(45, beating(ann), *jumps) == []
    assert (Desk(timed, "bob").look(), ann.done(taken)) == (None, ["done"])


@pytest.mark.parametrize(
    ("jump", "longest"),
    [(0, LONGEST), (5, LONGEST), (DAY, LONGEST), (-5, LONGEST_AFTER_A_JUMP_BACK), (-DAY, LONGEST_AFTER_A_JUMP_BACK)],
)
@pytest.mark.parametrize("second", [1, 8, 14])
def test_a_dead_session_is_expired_in_time_whatever_the_clock_does(
    timed: Engine, clock: Clock, observer: Observer, *, jump: int, longest: int, second: int
) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    ann.got()
    observer.look()
    [expired] = observer.watch(2 * LONGEST, at(second, lambda: clock.advance(jump)))
    assert expired <= longest
    assert timed["work"].counts().ready == 1


def test_a_dead_session_is_not_expired_before_its_time(timed: Engine, observer: Observer) -> None:
    Desk(timed)
    assert observer.watch(2 * LONGEST) == [EXPIRY // 1_000 + 1]


def test_a_process_that_has_just_begun_watches_before_it_expires_a_session(
    timed: Engine, clock: Clock, observer: Observer
) -> None:
    Desk(timed)
    clock.advance(DAY)
    assert (observer.look(), observer.watch(LONGEST)) == (0, [EXPIRY // 2_000 + 1])


def test_a_session_without_heartbeats_ends_by_the_clock_of_the_database(
    timed: Engine, clock: Clock, observer: Observer
) -> None:
    timed.session(expiry="15m", beats=False).open()
    assert observer.look() == 0
    clock.advance(901)
    assert observer.look() == 1


def test_a_heartbeat_after_the_last_check_keeps_the_session(timed: Engine, clock: Clock, observer: Observer) -> None:
    ann = Desk(timed)
    clock.advance(DAY)
    saved = [at(7, ann.beat), at(8, lambda: clock.advance(DAY))]
    assert observer.watch(14, *saved) == []


def test_a_settlement_after_the_deadline_is_written_while_the_session_is_not_expired(
    timed: Engine, clock: Clock
) -> None:
    timed["work"].add(["a", "b"])
    ann = Desk(timed)
    first = ann.got(1)
    clock.advance(DAY)
    assert (ann.done(first), ann.done(ann.got(1))) == (["done"], ["done"])


def test_an_old_look_expires_no_session_that_has_beaten_since(timed: Engine, clock: Clock) -> None:
    ann = Desk(timed)
    clock.advance(20)
    looked = timed.read(sessions.silent)
    ann.beat()
    assert (len(looked), timed.run(sessions.expire, looked)) == (1, 0)
