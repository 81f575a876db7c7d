"""Shares: exclusive lists among sessions, as even as they can be, one at a time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlock.leases import MAX_LISTS_PER_SESSION, LeaseShare, LeaseStep, next_step


def having(*numbers: int) -> dict[str, LeaseShare]:
    return {str(each): LeaseShare(number) for each, number in enumerate(numbers)}


@pytest.mark.parametrize(
    ("numbers", "free", "step"),
    [
        ((0,), 9, LeaseStep(take=9)),
        ((0, 0, 0), 9, LeaseStep(take=3)),
        ((3, 3, 3), 0, LeaseStep()),
        ((0, 3, 3, 3), 0, LeaseStep(ask="1")),
        ((1, 2, 3, 3), 0, LeaseStep(ask="2")),
        ((2, 2, 2, 3), 0, LeaseStep()),
        ((0, 1), 0, LeaseStep()),
        ((0, 2), 0, LeaseStep(ask="1")),
        ((0, 9), 1, LeaseStep(take=1)),
        ((5, 0), 1, LeaseStep()),
        ((3, 5, 1), 0, LeaseStep()),
        ((0,), MAX_LISTS_PER_SESSION * 2, LeaseStep(take=MAX_LISTS_PER_SESSION)),
    ],
)
def test_the_next_step_towards_an_even_share(numbers: tuple[int, ...], free: int, step: LeaseStep) -> None:
    assert next_step(having(*numbers), "0", free=free) == step


def test_a_session_that_is_not_known_does_nothing() -> None:
    assert next_step(having(9, 9), "somebody", free=9) == LeaseStep()


@given(st.permutations(range(6)), st.lists(st.integers(0, 20), min_size=6, max_size=6), st.integers(0, 30))
def test_steps_end_in_even_shares_and_every_free_list_is_taken(order: list[int], numbers: list[int], free: int) -> None:
    shares = having(*numbers)
    for me in [str(each) for each in order] * 60:
        step = next_step(shares, me, free=free)
        free -= step.take
        shares[me] = LeaseShare(shares[me].lists + step.take + (step.ask is not None))
        if step.ask is not None:
            shares[step.ask] = LeaseShare(shares[step.ask].lists - 1)
    parts = sorted(share.lists for share in shares.values())
    assert (free, parts[-1] - parts[0] <= 1) == (0, True)
