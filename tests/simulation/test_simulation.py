"""Simulation: seeds with crashes, pauses, lost answers, busy files, clock jumps and interrupts keep every promise."""

from pathlib import Path

import pytest
from tests.simulation.runs import SOMETIMES, run, run_all, simulation
from tests.torture import scaled

SEEDS = 20_000
PARTS = 8
KEPT = Path(__file__).with_name("kept_seeds.txt")


@pytest.mark.parametrize("part", range(PARTS))
def test_seeds_keep_every_promise(part: int) -> None:
    summary = run_all(range(part, SEEDS, PARTS))
    assert summary.failed == {}
    assert summary.never_met == []


@pytest.mark.torture
@pytest.mark.parametrize("part", range(PARTS))
def test_many_more_seeds_keep_every_promise(part: int) -> None:
    summary = run_all(range(SEEDS + part, SEEDS + scaled(80_000), PARTS))
    assert summary.failed == {}


def test_seeds_that_once_failed_keep_every_promise() -> None:
    lines = [line for line in KEPT.read_text().splitlines() if not line.startswith("#")]
    summary = run_all(int(line.split()[0]) for line in lines)
    assert (summary.failed, len(lines) > 0) == ({}, True)


def test_a_seed_repeats_itself() -> None:
    with simulation() as disk:
        first = [run(seed, disk) for seed in range(30)]
        again = [run(seed, disk) for seed in range(30)]
    assert [each.events for each in first] == [each.events for each in again]
    assert [each.marks for each in first] == [each.marks for each in again]


def test_a_run_that_met_too_little_is_void() -> None:
    assert set(run_all(range(1)).never_met) < set(SOMETIMES)
    assert run_all(range(1)).never_met
