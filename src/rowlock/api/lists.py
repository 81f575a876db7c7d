"""Lists as wholes, their gates and their throughput over HTTP: bodies, answers and operations."""

from typing import Any

import msgspec

from rowlock import failures, gates, item_search, key_ranges, lists, overview, throughput
from rowlock.api.documents import Value, page
from rowlock.api.operation import Operation
from rowlock.failures import FailureGroup
from rowlock.key_ranges import Range
from rowlock.model import GateInfo, ListInfo, Settings, Then
from rowlock.overview import ItemOverview, ListDetails, Overview
from rowlock.roles import Role
from rowlock.throughput import Throughput

VIEWER, WORKER, OPERATOR, ADMIN = Role
LIST_PATH = "/v1/lists/{list}"


class NewName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a list shall be called."""

    to: str = msgspec.field(name="name")


class Dropped(Value, frozen=True):
    """How many items a dropped list had."""

    dropped: int


class Changed(Value, frozen=True):
    """Whether that changed anything."""

    changed: bool


class GateChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a list shall go on."""

    gate: int | str
    """Its number or its name."""


class SealOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What follows when nothing is left."""

    then: Then | None = None


def _list_cells(info: ListInfo) -> tuple[Any, ...]:
    counts, done = info.counts, info.progress.done
    known = done + counts.total
    waiting = (counts.ready, counts.delayed, counts.gated, counts.claimed, counts.failed)
    return info.name, info.state, info.gate, *waiting, done, f"{done / known if known else 0:.0%}"


ListPage = page("ListPage", "lists", of=ListInfo, cells=_list_cells, cursor="name")
GatePage = page(
    "GatePage",
    "gates",
    of=GateInfo,
    cells=("number", "name", "state", "counts.total", "counts.failed", "progress.done", "progress.moved"),
)
Ranges = page("Ranges", "ranges", of=Range, cells=("after", "upto", "count"))
FailureGroupPage = page("FailureGroupPage", "failures", of=FailureGroup, cells=("count", "kind", "shape", "example"))
KeyPage = page("KeyPage", "keys", of=str)

OPERATIONS = (
    Operation(overview.show, "GET", "/v1/overview", VIEWER, Overview),
    Operation(overview.of_list, "GET", f"{LIST_PATH}/overview", VIEWER, ListDetails),
    Operation(overview.of_item, "GET", f"{LIST_PATH}/items/{{key}}/overview", VIEWER, ItemOverview),
    Operation(throughput.total, "GET", "/v1/throughput", VIEWER, Throughput),
    Operation(throughput.of_list, "GET", f"{LIST_PATH}/throughput", VIEWER, Throughput),
    Operation(lists.page, "GET", "/v1/lists", VIEWER, ListPage, streamed=True),
    Operation(lists.show, "GET", LIST_PATH, VIEWER, ListInfo),
    Operation(lists.put, "PUT", LIST_PATH, OPERATOR, ListInfo, body=Settings, whole="settings"),
    Operation(lists.change_settings, "PATCH", LIST_PATH, OPERATOR, ListInfo, body=dict[str, Any], whole="changes"),
    Operation(lists.drop, "DELETE", LIST_PATH, ADMIN, Dropped),
    Operation(lists.rename, "POST", f"{LIST_PATH}/rename", OPERATOR, ListInfo, body=NewName, keyed=True),
    Operation(lists.pause, "POST", f"{LIST_PATH}/pause", OPERATOR, Changed),
    Operation(lists.resume, "POST", f"{LIST_PATH}/resume", OPERATOR, Changed),
    Operation(key_ranges.split, "GET", f"{LIST_PATH}/ranges", VIEWER, Ranges, name="ranges.split"),
    Operation(failures.groups, "GET", f"{LIST_PATH}/failures", VIEWER, FailureGroupPage),
    Operation(
        item_search.keys_matching_error,
        "GET",
        f"{LIST_PATH}/failures/keys",
        VIEWER,
        KeyPage,
        name="failures.keys_matching_error",
    ),
    Operation(gates.show, "GET", f"{LIST_PATH}/gates", VIEWER, GatePage),
    Operation(gates.open_gate, "PUT", f"{LIST_PATH}/gate", OPERATOR, Changed, body=GateChoice),
    Operation(gates.seal, "POST", f"{LIST_PATH}/seal", OPERATOR, Changed, body=SealOptions),
    Operation(gates.complete, "POST", f"{LIST_PATH}/complete", OPERATOR, Changed),
    Operation(gates.reopen, "POST", f"{LIST_PATH}/reopen", OPERATOR, Changed),
)
