"""Leases: exclusive lists are shared evenly by those who look for them, one changing hands at a time."""

import threading
from collections.abc import Callable, Iterator

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk, broken, keys
from tests.waiting import WAIT_SECONDS

from rowlock import Engine, claims, leases, lists, sessions
from rowlock.claims import ClaimRequest
from rowlock.diagnostics import broken_rules
from rowlock.environment import Environment
from rowlock.worker.lease_holder import LeaseHolder

pytestmark = pytest.mark.parametrize("dialect", EVERY)


class Passing:
    """Seconds that pass when told to, for the database and for workers."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += seconds
        self.clock.advance(seconds)


@pytest.fixture
def time(clock: Clock) -> Passing:
    return Passing(clock)


@pytest.fixture
def feeds(url: str, clock: Clock, time: Passing) -> Iterator[Engine]:
    """An engine whose time is moved, with nine exclusive lists of three items each."""
    with Engine(url, clock=clock, environment=Environment(monotonic=time)) as engine:
        for number in range(9):
            engine[f"feeds/{number}"].settings(exclusive=True)
            engine[f"feeds/{number}"].add(["a", "b", "c"])
        engine.upkeep()
        yield engine


class Seeker:
    """A worker's session that looks for the lists `feeds/*`, or others."""

    def __init__(self, engine: Engine, pattern: str = "feeds/*") -> None:
        self.told: list[tuple[str, str]] = []
        self.desk = Desk(engine, seeks=[pattern], expiry=3_600_000)
        self.leasing = LeaseHolder(
            engine, self.desk.id, fits=fitting(pattern), hook=lambda kind, name: self.told.append((kind, name))
        )

    def look(self) -> int:
        """Look once; how many lists it has now."""
        return len(self.leasing.refresh())


def fitting(pattern: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(pattern.rstrip("*"))


def held(engine: Engine) -> dict[str, str]:
    """Which session has each list."""
    return {name: info.id for info in engine.sessions() for name in engine.read(leases.names, info.id)}


def moved(before: dict[str, str], after: dict[str, str]) -> int:
    """How many lists are in other hands."""
    return sum(after.get(name) != session for name, session in before.items())


def test_one_session_alone_has_all_lists(feeds: Engine) -> None:
    assert Seeker(feeds).look() == 9


def test_three_sessions_that_start_together_have_three_lists_each(feeds: Engine) -> None:
    seekers = [Seeker(feeds) for _ in range(3)]
    assert ([seeker.look() for seeker in seekers], broken(feeds)) == ([3, 3, 3], [])


def test_a_fourth_session_gets_one_list_per_round_until_shares_are_even(feeds: Engine, time: Passing) -> None:
    seekers = [Seeker(feeds) for _ in range(3)]
    assert sum(seeker.look() for seeker in seekers) == 9
    seekers.append(Seeker(feeds))
    moves = []
    for _ in range(6):
        before = held(feeds)
        for seeker in seekers:
            seeker.look()
        moves.append(moved(before, held(feeds)))
        time.pass_by(1)
    assert moves == [1, 1, 0, 0, 0, 0]
    assert sorted(seeker.look() for seeker in seekers) == [2, 2, 2, 3]
    assert broken(feeds) == []


def test_sessions_that_come_one_by_one_end_with_even_shares(feeds: Engine, time: Passing) -> None:
    seekers = [Seeker(feeds)]
    seekers[0].look()
    seekers += [Seeker(feeds), Seeker(feeds)]
    for _ in range(5):
        for seeker in seekers:
            seeker.look()
        time.pass_by(1)
    assert [seeker.look() for seeker in seekers] == [3, 3, 3]


def test_two_looks_within_a_round_move_one_list(feeds: Engine) -> None:
    Seeker(feeds).look()
    late = Seeker(feeds)
    assert [late.look(), late.look(), late.look()] == [1, 1, 1]


def test_what_is_in_hand_changes_hands_when_it_is_settled(feeds: Engine, time: Passing) -> None:
    ann = Seeker(feeds)
    ann.look()
    claims = {name: ann.desk.got(1, name) for name in sorted(held(feeds))}
    bob = Seeker(feeds)
    assert (bob.look(), feeds.read(leases.shares, bob.desk.id)[bob.desk.id]) == (0, leases.LeaseShare(1, asked=1))
    ann.desk.done(claims["feeds/0"])
    assert (ann.desk.take(name="feeds/0"), ann.desk.look(name="feeds/0")) == (None, None)
    time.pass_by(0.2)
    assert (bob.look(), bob.told) == (1, [("lease", "feeds/0")])
    assert (keys(bob.desk.take(name="feeds/0")), broken(feeds)) == (["b", "c"], [])


def test_what_was_asked_for_is_collected_when_its_holder_does_not_come_back(feeds: Engine, time: Passing) -> None:
    ann = Seeker(feeds)
    ann.look()
    claims = [ann.desk.got(1, name) for name in sorted(held(feeds))]
    bob = Seeker(feeds)
    bob.look()
    for taken in claims:
        ann.desk.done(taken)
    time.pass_by(1)
    assert bob.look() >= 1


def test_who_asked_and_died_is_forgotten(feeds: Engine, time: Passing) -> None:
    ann = Seeker(feeds)
    ann.look()
    claims = {name: ann.desk.got(1, name) for name in sorted(held(feeds))}
    bob = Seeker(feeds)
    bob.look()
    bob.desk.close()
    for name, taken in claims.items():
        ann.desk.done(taken)
        assert keys(ann.desk.take(1, name)) == ["b"]


def test_lists_of_a_session_that_ended_are_free_at_once(feeds: Engine) -> None:
    ann, bob = Seeker(feeds), Seeker(feeds)
    ann.look()
    bob.look()
    ann.desk.close()
    feeds.upkeep()
    assert (bob.look(), broken(feeds)) == (9, [])


def test_lists_of_a_session_that_died_are_free_when_it_is_buried(feeds: Engine, time: Passing) -> None:
    dying = Desk(feeds, seeks=["feeds/*"])
    feeds.run(leases.take, dying.id, [each.id for each in feeds.read(leases.free)])
    bob = Seeker(feeds)
    assert bob.look() == 1
    time.pass_by(16)
    feeds.upkeep()
    feeds.upkeep()
    assert (bob.look(), broken(feeds)) == (9, [])


def test_a_list_that_nobody_took_for_a_round_is_taken_whatever_the_shares(feeds: Engine, time: Passing) -> None:
    Seeker(feeds)  # alive, but it never looks
    ann = Seeker(feeds)
    assert ann.look() == 5
    assert ann.look() == 5
    time.pass_by(1)
    assert ann.look() == 9


def test_sessions_that_look_for_other_lists_do_not_share(feeds: Engine) -> None:
    Seeker(feeds, "mail/*")
    assert Seeker(feeds).look() == 9


def test_a_list_that_is_worked_off_is_given_back_and_found_again(feeds: Engine, time: Passing) -> None:
    ann = Seeker(feeds, "feeds/3")
    ann.look()
    ann.desk.done(ann.desk.got(name="feeds/3"))
    assert ann.desk.look(name="feeds/3") is None
    ann.leasing.held.doubt("feeds/3")
    assert (held(feeds), ann.told) == ({}, [("lease", "feeds/3"), ("lease_end", "feeds/3")])
    feeds["feeds/3"].add("d")
    feeds.upkeep()
    assert (ann.look(), keys(ann.desk.take(name="feeds/3"))) == (1, ["d"])


def test_a_paused_list_is_not_had(feeds: Engine) -> None:
    feeds["feeds/3"].pause()
    assert Seeker(feeds).look() == 8


def test_sessions_and_lists_tell_who_has_what(feeds: Engine) -> None:
    ann = Seeker(feeds, "feeds/3")
    ann.look()
    assert [info.leases for info in feeds.sessions()] == [["feeds/3"]]
    assert {info.name: info.holder for info in feeds.lists() if info.holder} == {"feeds/3": "ann"}
    assert (feeds["feeds/3"].info().holder, feeds["feeds/4"].info().holder) == ("ann", None)


def test_two_sessions_that_take_at_once_never_have_the_same_list(feeds: Engine) -> None:
    desks = [Desk(feeds, seeks=["feeds/*"]) for _ in range(4)]
    ids = [each.id for each in feeds.read(leases.free)]
    start = threading.Barrier(4)
    taken: list[int] = []

    def take(desk: Desk) -> None:
        start.wait(WAIT_SECONDS)
        taken.append(feeds.run(leases.take, desk.id, ids))

    threads = [threading.Thread(target=take, args=(desk,)) for desk in desks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert (sum(taken), len(held(feeds)), broken(feeds)) == (9, 9, [])


def test_a_paused_list_whose_holder_was_idle_is_not_marked_as_leased(timed: Engine, clock: Clock) -> None:
    timed["work"].settings(exclusive=True)
    timed["work"].add("a")
    for session in ("idle", "next"):
        timed.run(sessions.open_session, session, holder=session)
    timed.run(claims.take_thoroughly, ClaimRequest("idle", "work", 1, "token-1"))
    timed.run(claims.close, "idle", "token-1")
    timed["work"].pause()
    timed["work"].add("b")
    timed.run(lists.apply_wakes)
    clock.advance(20)
    assert timed.run(claims.take_thoroughly, ClaimRequest("next", "work", 1, "token-2")) is None
    assert timed.read(broken_rules) == []
