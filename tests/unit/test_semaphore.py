"""InterruptSafeSemaphore: a bounded number of holders, and an exception at any moment keeps no other permit out."""

import threading
from functools import partial

import pytest
from tests.races.interrupting import Tracer

from rowlock.db import pool
from rowlock.db.pool import InterruptSafeSemaphore, Permit
from rowlock.environment import REAL_ENVIRONMENT, Deadline

NOW = Deadline(0.0, lambda: 0.0)


def soon() -> Deadline:
    """A moment that comes only if something is wrong."""
    return REAL_ENVIRONMENT.deadline(60)


class Waiting(Permit, kw_only=True):
    """A permit that releases another one when it must wait."""

    semaphore: InterruptSafeSemaphore[Permit]
    other: Permit

    def wait(self) -> None:
        self.semaphore.release(self.other)


def of_size(size: int) -> InterruptSafeSemaphore[Permit]:
    return InterruptSafeSemaphore(size)


def test_as_many_permits_as_its_size_hold_a_semaphore() -> None:
    semaphore = of_size(2)
    permits = [Permit() for _ in range(3)]
    assert [semaphore.acquire(permit, NOW) for permit in permits] == [True, True, False]


def test_a_waiting_permit_is_woken() -> None:
    semaphore, holder, waiting = of_size(1), Permit(), Permit()
    semaphore.acquire(holder, NOW)
    got: list[bool] = []
    thread = threading.Thread(target=lambda: got.append(semaphore.acquire(waiting, soon())))
    thread.start()
    semaphore.release(holder)
    thread.join()
    assert got == [True]


def test_permits_hold_a_semaphore_in_the_order_in_which_they_came() -> None:
    semaphore = of_size(1)
    holder, waiting, newcomer = Permit(), Permit(), Permit()
    assert [semaphore.acquire(permit, NOW) for permit in (holder, waiting)] == [True, False]
    semaphore.release(holder)
    assert not semaphore.acquire(newcomer, NOW)
    assert semaphore.acquire(waiting, NOW)


def test_a_permit_that_was_left_behind_keeps_others_waiting_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    semaphore, holder, left_behind = of_size(1), Permit(), Permit()
    assert [semaphore.acquire(permit, NOW) for permit in (holder, left_behind)] == [True, False]
    semaphore.release(holder)
    assert not semaphore.acquire(Permit(), NOW)
    monkeypatch.setattr(pool, "MAX_QUEUE_SECONDS", -1.0)
    assert semaphore.acquire(Permit(), NOW)


def test_no_permit_starves_among_threads_that_take_turns_without_a_pause() -> None:
    semaphore, stopped = of_size(1), threading.Event()

    def hog() -> None:
        permit = Permit()
        while not stopped.is_set():
            semaphore.acquire(permit, soon())
            semaphore.release(permit)

    threads = [threading.Thread(target=hog) for _ in range(4)]
    for thread in threads:
        thread.start()
    late = Permit()
    try:
        for _ in range(5):
            assert semaphore.acquire(late, soon())
            semaphore.release(late)
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def test_a_second_release_does_no_harm() -> None:
    semaphore, one, other = of_size(1), Permit(), Permit()
    semaphore.acquire(one, NOW)
    semaphore.release(one)
    semaphore.acquire(other, NOW)
    semaphore.release(one)
    assert semaphore.holders() == [other]


@pytest.mark.parametrize("holds", [True, False])
def test_an_exception_at_any_moment_keeps_no_other_permit_out(holds: bool) -> None:
    tracer = Tracer(everywhere=True)

    def turn(semaphore: InterruptSafeSemaphore[Permit], holder: Permit, permit: Permit) -> None:
        semaphore.acquire(permit, soon())
        semaphore.release(permit)

    def prepared() -> tuple[InterruptSafeSemaphore[Permit], Permit, Permit]:
        semaphore, holder = of_size(1), Permit()
        if holds:
            semaphore.acquire(holder, NOW)
        return semaphore, holder, Waiting(semaphore=semaphore, other=holder)

    moments = tracer.moments(partial(turn, *prepared()))
    for moment in moments:
        semaphore, holder, permit = prepared()
        assert isinstance(tracer.interrupted(partial(turn, semaphore, holder, permit), moment), KeyboardInterrupt)
        semaphore.release(permit)
        semaphore.release(holder)
        assert semaphore.acquire(Permit(), NOW)
    assert len(moments) > 20
