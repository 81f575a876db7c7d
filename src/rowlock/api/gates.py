"""What crosses a process about gates: bodies and answers."""

import msgspec

from rowlock import gates
from rowlock.api.lists import LIST_PATH, Changed
from rowlock.api.operation import Operation
from rowlock.api.text import Page, row
from rowlock.model import GateInfo, Then
from rowlock.roles import Role


class GatePage(Page, frozen=True):
    """The gates of a list."""

    gates: list[GateInfo]

    def text(self) -> str:
        """A line for each gate."""
        return "".join(row((each.number, each.name, each.state, *_counts(each))) for each in self.gates)


class GateChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a list shall go on."""

    gate: int | str
    """Its number or its name."""


class SealOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What follows when nothing is left."""

    then: Then | None = None


def _counts(gate: GateInfo) -> tuple[int, ...]:
    return gate.counts.total, gate.counts.failed, gate.progress.done, gate.progress.moved


OPERATIONS = (
    Operation(gates.show, "GET", f"{LIST_PATH}/gates", Role.VIEWER, GatePage, value="gates"),
    Operation(gates.open_gate, "PUT", f"{LIST_PATH}/gate", Role.OPERATOR, Changed, body=GateChoice, value="changed"),
    Operation(gates.seal, "POST", f"{LIST_PATH}/seal", Role.OPERATOR, Changed, body=SealOptions, value="changed"),
    Operation(gates.complete, "POST", f"{LIST_PATH}/complete", Role.OPERATOR, Changed, value="changed"),
    Operation(gates.reopen, "POST", f"{LIST_PATH}/reopen", Role.OPERATOR, Changed, value="changed"),
)
