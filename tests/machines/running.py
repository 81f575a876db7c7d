"""Runs state machines on databases."""

from collections.abc import Sequence

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

# Databases make a failure slow to shrink; the seed that is printed repeats it.
PHASES = (Phase.explicit, Phase.generate)


def run_machine(machine: type[RuleBasedStateMachine], size: dict[str, int], phases: Sequence[Phase] = PHASES) -> None:
    """Run examples of a machine: however slow a step, and however many steps its preconditions rule out."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    bounds = settings(database=None, phases=phases, suppress_health_check=checks, **size)
    run_state_machine_as_test(machine, settings=bounds)
