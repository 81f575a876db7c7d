"""What crosses a process about lists as wholes: bodies, queries and answers."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock import failures, lists, ranges
from rowlock.api.operation import Operation
from rowlock.api.text import Page, row, text
from rowlock.failures import FailureGroup
from rowlock.model import ListInfo, Settings
from rowlock.ranges import Range
from rowlock.roles import Role

VIEWER, WORKER, OPERATOR, ADMIN = Role
LIST_PATH = "/v1/lists/{list}"
ITEMS_PATH = f"{LIST_PATH}/items"

AfterName = Annotated[str, Meta(description="Strictly after this name, in byte order.")]
Limit = Annotated[int, Meta(description="At most so many.")]


class ListQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which lists."""

    limit: Annotated[int, Meta(description="At most so many; text and NDJSON give all without it.")] | None = (
        msgspec.field(default=None, name="count")
    )
    after: AfterName = ""


class ListPage(Page, frozen=True):
    """A page of lists."""

    lists: list[ListInfo]
    next: str | None
    """What to give as `after` for the next page; none if this is the last."""

    def text(self) -> str:
        """A line for each list."""
        return "".join(row(_cells(info)) for info in self.lists)


class SettingsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do if there is no such list."""

    create: Annotated[bool, Meta(description="Make the list if it does not exist.")] = False


class NewName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a list shall be called."""

    to: str = msgspec.field(name="name")


class Dropped(msgspec.Struct, frozen=True):
    """How many items a dropped list had."""

    dropped: int


class Changed(msgspec.Struct, frozen=True):
    """Whether that changed anything."""

    changed: bool


class RangeQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Into how many parts."""

    parts: Annotated[int, Meta(description="How many ranges; fewer if there are fewer keys.")]


class Ranges(Page, frozen=True):
    """Key ranges of equal size."""

    ranges: list[Range]

    def text(self) -> str:
        """A line for each range."""
        return "".join(row((part.after, part.upto, part.count)) for part in self.ranges)


class FailureGroupQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many groups."""

    limit: Annotated[int, Meta(description="At most so many, the most frequent first.")] = msgspec.field(
        default=50, name="count"
    )


class FailureGroupPage(Page, frozen=True):
    """How the items of a list fail."""

    failures: list[FailureGroup]

    def text(self) -> str:
        """A line for each group."""
        return "".join(row((group.count, group.kind, group.shape, group.example)) for group in self.failures)


class FailedKeyQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which failed items."""

    text: Annotated[str, Meta(description="What their last error says, or a part of it.")] = msgspec.field(name="error")
    after: Annotated[str, Meta(description="Strictly after this key, in byte order.")] = ""
    limit: Limit = msgspec.field(default=1000, name="count")


class KeyPage(Page, frozen=True):
    """Keys of items, in byte order."""

    keys: list[str]


def list_lines(info: ListInfo) -> str:
    """One list as lines: a name and its value each."""
    facts = {"name": info.name, "state": info.state, "gate": info.gate, "sealed": info.sealed, "version": info.version}
    progress = {name: getattr(info.progress, name) for name in ("added", "done", "retried", "moved", "abandoned")}
    return text({**facts, **msgspec.structs.asdict(info.counts), **progress})


def _cells(info: ListInfo) -> tuple[Any, ...]:
    counts, done = info.counts, info.progress.done
    known = done + counts.total
    waiting = (counts.ready, counts.delayed, counts.gated, counts.claimed, counts.failed)
    return info.name, info.state, info.gate, *waiting, done, f"{done / known if known else 0:.0%}"


OPERATIONS = (
    Operation(
        lists.page,
        "GET",
        "/v1/lists",
        VIEWER,
        ListPage,
        query=ListQuery,
        value="lists",
        cursor="name",
        streamed=True,
        scoped=True,
    ),
    Operation(lists.show, "GET", LIST_PATH, VIEWER, ListInfo, text=list_lines, versioned=True),
    Operation(
        lists.put,
        "PUT",
        LIST_PATH,
        OPERATOR,
        ListInfo,
        body=Settings,
        whole="settings",
        text=list_lines,
        statuses=(200, 201),
        versioned=True,
    ),
    Operation(
        lists.change_settings,
        "PATCH",
        LIST_PATH,
        OPERATOR,
        ListInfo,
        query=SettingsQuery,
        body=dict[str, Any],
        whole="changes",
        text=list_lines,
        versioned=True,
    ),
    Operation(lists.drop, "DELETE", LIST_PATH, ADMIN, Dropped, value="dropped", versioned=True),
    Operation(
        lists.rename,
        "POST",
        f"{LIST_PATH}/rename",
        OPERATOR,
        ListInfo,
        body=NewName,
        text=list_lines,
        idempotent=False,
        keyed=True,
        versioned=True,
    ),
    Operation(lists.pause, "POST", f"{LIST_PATH}/pause", OPERATOR, Changed, value="changed", versioned=True),
    Operation(lists.resume, "POST", f"{LIST_PATH}/resume", OPERATOR, Changed, value="changed", versioned=True),
    Operation(
        ranges.split, "GET", f"{LIST_PATH}/ranges", VIEWER, Ranges, query=RangeQuery, value="ranges", tag="lists"
    ),
    Operation(
        failures.groups,
        "GET",
        f"{LIST_PATH}/failures",
        VIEWER,
        FailureGroupPage,
        query=FailureGroupQuery,
        value="failures",
        tag="lists",
    ),
    Operation(
        failures.keys_matching_error,
        "GET",
        f"{LIST_PATH}/failures/keys",
        VIEWER,
        KeyPage,
        query=FailedKeyQuery,
        value="keys",
        tag="lists",
    ),
)
