"""InterruptSafeSemaphore: so many at a time, and an exception at any moment keeps nobody out."""

import threading
from functools import partial

import pytest
from tests.races.interrupting import Tracer

from rowlock.db.semaphore import InterruptSafeSemaphore, Permit
from rowlock.environment import REAL_ENVIRONMENT, Deadline

NOW = Deadline(0.0, lambda: 0.0)


def soon() -> Deadline:
    """A moment that comes only if something is wrong."""
    return REAL_ENVIRONMENT.deadline(60)


class Waiting(Permit):
    """A permit that ends another one's turn when it must wait."""

    def __init__(self, semaphore: InterruptSafeSemaphore, other: Permit) -> None:
        super().__init__()
        self._semaphore = semaphore
        self._other = other

    def wait(self) -> None:
        self._semaphore.release(self._other)


def test_as_many_as_there_is_room_for_have_a_turn() -> None:
    semaphore = InterruptSafeSemaphore(2)
    permits = [Permit() for _ in range(3)]
    assert [semaphore.acquire(permit, NOW) for permit in permits] == [True, True, False]


def test_who_waits_is_woken() -> None:
    semaphore, holder, waiting = InterruptSafeSemaphore(1), Permit(), Permit()
    semaphore.acquire(holder, NOW)
    got: list[bool] = []
    thread = threading.Thread(target=lambda: got.append(semaphore.acquire(waiting, soon())))
    thread.start()
    semaphore.release(holder)
    thread.join()
    assert got == [True]


def test_to_end_twice_does_no_harm() -> None:
    semaphore, one, other = InterruptSafeSemaphore(1), Permit(), Permit()
    semaphore.acquire(one, NOW)
    semaphore.release(one)
    semaphore.acquire(other, NOW)
    semaphore.release(one)
    assert semaphore.holders() == [other]


@pytest.mark.parametrize("holds", [True, False])
def test_an_exception_at_any_moment_keeps_nobody_out(holds: bool) -> None:
    tracer = Tracer(everywhere=True)

    def turn(semaphore: InterruptSafeSemaphore, holder: Permit, permit: Permit) -> None:
        semaphore.acquire(permit, soon())
        semaphore.release(permit)

    def prepared() -> tuple[InterruptSafeSemaphore, Permit, Permit]:
        semaphore, holder = InterruptSafeSemaphore(1), Permit()
        if holds:
            semaphore.acquire(holder, NOW)
        return semaphore, holder, Waiting(semaphore, holder)

    moments = tracer.moments(partial(turn, *prepared()))
    for moment in moments:
        semaphore, holder, permit = prepared()
        assert isinstance(tracer.interrupted(partial(turn, semaphore, holder, permit), moment), KeyboardInterrupt)
        semaphore.release(permit)
        semaphore.release(holder)
        assert semaphore.acquire(Permit(), NOW)
    assert len(moments) > 20
