"""Turns: so many at a time, and an exception at any moment keeps nobody out."""

import threading
from functools import partial

import pytest
from tests.races.interrupting import Tracer

from rowlock.db.turns import Ticket, Turns
from rowlock.world import REAL, Deadline

NOW = Deadline(0.0, lambda: 0.0)


def soon() -> Deadline:
    """A moment that comes only if something is wrong."""
    return REAL.deadline(60)


class Waiting(Ticket):
    """A ticket that ends another one's turn when it must wait."""

    def __init__(self, turns: Turns, other: Ticket) -> None:
        super().__init__()
        self._turns = turns
        self._other = other

    def wait(self) -> None:
        self._turns.end(self._other)


def test_as_many_as_there_is_room_for_have_a_turn() -> None:
    turns = Turns(2)
    tickets = [Ticket() for _ in range(3)]
    assert [turns.take(ticket, NOW) for ticket in tickets] == [True, True, False]


def test_who_waits_is_woken() -> None:
    turns, holder, waiting = Turns(1), Ticket(), Ticket()
    turns.take(holder, NOW)
    got: list[bool] = []
    thread = threading.Thread(target=lambda: got.append(turns.take(waiting, soon())))
    thread.start()
    turns.end(holder)
    thread.join()
    assert got == [True]


def test_to_end_twice_does_no_harm() -> None:
    turns, one, other = Turns(1), Ticket(), Ticket()
    turns.take(one, NOW)
    turns.end(one)
    turns.take(other, NOW)
    turns.end(one)
    assert turns.holders() == [other]


@pytest.mark.parametrize("holds", [True, False])
def test_an_exception_at_any_moment_keeps_nobody_out(holds: bool) -> None:
    tracer = Tracer(everywhere=True)

    def turn(turns: Turns, holder: Ticket, ticket: Ticket) -> None:
        turns.take(ticket, soon())
        turns.end(ticket)

    def prepared() -> tuple[Turns, Ticket, Ticket]:
        turns, holder = Turns(1), Ticket()
        if holds:
            turns.take(holder, NOW)
        return turns, holder, Waiting(turns, holder)

    moments = tracer.moments(partial(turn, *prepared()))
    for moment in moments:
        turns, holder, ticket = prepared()
        assert isinstance(tracer.interrupted(partial(turn, turns, holder, ticket), moment), KeyboardInterrupt)
        turns.end(ticket)
        turns.end(holder)
        assert turns.take(Ticket(), NOW)
    assert len(moments) > 20
