"""Routes of gates: how a list goes on, and how it ends."""

import msgspec

from rowlock import gates
from rowlock.http.auth import check_settings
from rowlock.http.call import Call
from rowlock.http.lists import Changed
from rowlock.http.pages import Page
from rowlock.http.texts import form, row
from rowlock.model import GateInfo, Then


class GatePage(Page, frozen=True):
    """The gates of a list."""

    gates: list[GateInfo]


class GateWanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a list shall go on."""

    gate: int | str
    """Its number or its name."""


class Sealing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What follows when nothing is left."""

    then: Then | None = None


async def show(call: Call) -> GatePage:
    """The gates of a list that ever had items or have a name: what stands at each, and what has happened there."""
    return GatePage(await call.service.executor.read(gates.show, call.path["list"]))


async def open_gate(call: Call) -> Changed:
    """Go on to a gate by hand; never past items, and back only when the list is empty."""
    wanted: GateWanted = await call.document()
    return Changed(await call.service.executor.write(gates.open_gate, call.path["list"], wanted.gate))


async def seal(call: Call) -> Changed:
    """Take no more items; when none is left the list is complete, and what follows is added to its list."""
    sealing: Sealing = await call.document()
    if sealing.then is not None:
        check_settings({"then": [sealing.then]}, call.principal)
    return Changed(await call.service.executor.write(gates.seal, call.path["list"], then=sealing.then))


async def complete(call: Call) -> Changed:
    """End a list by hand, whatever is left on it; that stays and is not handed out."""
    return Changed(await call.service.executor.write(gates.complete, call.path["list"]))


async def reopen(call: Call) -> Changed:
    """Take and hand out items again, after a seal or the end."""
    return Changed(await call.service.executor.write(gates.reopen, call.path["list"]))


@form(GatePage)
def _rows(page: GatePage) -> str:
    return "".join(row((each.number, each.name, each.state, *_counted(each))) for each in page.gates)


def _counted(each: GateInfo) -> tuple[int, ...]:
    return each.counts.total, each.counts.failed, each.progress.done, each.progress.moved
