"""What crosses a process about items: bodies, queries and answers."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from rowlock import failures, item_input, item_resources, items, results
from rowlock.api.bulk import Deleted
from rowlock.api.lists import ITEMS_PATH
from rowlock.api.operation import Operation
from rowlock.api.text import Page, row, text
from rowlock.errors import InvalidData
from rowlock.item_input import CheckedChanges
from rowlock.json_codec import MAX_LEVELS, is_too_deep
from rowlock.model import NO_DATA, Failure, Item, ItemDetails, to_datetime
from rowlock.results import Result
from rowlock.roles import Role

AfterKey = Annotated[str, Meta(description="Strictly after this key, in byte order.")]
VIEWER, WORKER, OPERATOR, ADMIN = Role
ITEM_PATH = f"{ITEMS_PATH}/{{key}}"

InState = Annotated[str, Meta(description="Only items that are ready, delayed, gated, claimed or failed.")]


class ItemPage(Page, frozen=True):
    """A page of items in the byte order of their keys."""

    items: list[Item]
    next: str | None
    """What to give as `after` for the next page; none if this is the last."""

    def to_result(self, *_: str) -> list[Item]:
        """The items, checked to be whole."""
        return [check_whole(item) for item in self.items]

    def text(self) -> str:
        """A line for each item."""
        return "".join([f"{item.key}\t{item.attempts}\t{item.state}\n" for item in self.items])


class ItemQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which items of a list."""

    limit: Annotated[int, Meta(description="At most so many; text and NDJSON give all without it.")] | None = (
        msgspec.field(default=None, name="count")
    )
    after: AfterKey = ""
    state: InState | None = None


class ItemChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is to be different about an item; what is left out stays."""

    data: Any = UNSET
    due: str | float | UnsetType | None = UNSET
    """When it becomes ready; null is at once."""
    priority: int | UnsetType = UNSET

    def to_argument(self, _: str, key: str) -> CheckedChanges:
        """The changes as the engine takes them."""
        return item_input.read_changes(key, data=self.data, due=self.due, priority=self.priority)

    @classmethod
    def from_argument(cls, changes: CheckedChanges) -> "ItemChanges":
        """CheckedChanges of the engine as they are sent."""
        data = msgspec.Raw(changes.data.encode()) if isinstance(changes.data, str) else changes.data
        due = due_text(*changes.due) if isinstance(changes.due, tuple) else changes.due
        return ItemChanges(data, due, changes.priority)


class ItemData(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an item carries, and where it stands if it is new."""

    data: Any = None
    due: str | float | UnsetType | None = UNSET
    gate: int | None = None
    priority: int | UnsetType = UNSET


class ResultPage(Page, frozen=True):
    """What an item left behind."""

    results: list[Result]


class ItemFailurePage(Page, frozen=True):
    """How an item has failed, the newest first."""

    failures: list[Failure]


class HistoryQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of an item's past."""

    limit: Annotated[int, Meta(description="At most so many, the newest first.")] = msgspec.field(
        default=20, name="count"
    )


def due_text(delay: int, at: int | None) -> str | None:
    """A delay or a moment in milliseconds, as bodies have it; None is at once."""
    if at is not None:
        return to_datetime(at).isoformat()
    return f"{delay}ms" if delay else None


def check_whole(item: Item, *_: str) -> Item:
    """Refuse an item whose data is nested deeper than is allowed: what arrived of it may have been cut."""
    text = item.raw_data
    if text is not None and is_too_deep(text):
        what = f"the data of {item.key!r} of the list {item.list!r} is nested deeper than {MAX_LEVELS} levels"
        raise InvalidData(what, "it was stored when that was allowed: save other data, or abandon the item")
    return item


def item_lines(item: ItemDetails) -> str:
    """One item as lines: a name and its value each, and a line for each failure."""
    facts = (
        f"key\t{item.key}\nlist\t{item.list}\nstate\t{item.state}\nattempts\t{item.attempts}\n"
        f"gate\t{item.gate}\npriority\t{item.priority}\nversion\t{item.version}\n"
    )
    if item.due is None and item.failed_at is None and item.raw == NO_DATA and not item.failures:
        return facts
    rare = text({"due": item.due, "failed_at": item.failed_at, "data": item.raw})
    return facts + rare + "".join(map(_failure_row, item.failures))


def _failure_row(failure: Failure) -> str:
    message = " ".join(failure.message.split())
    return row(("failure", failure.attempt, failure.at, failure.kind, failure.holder, message))


PAGE_ITEMS = Operation(
    items.page, "GET", ITEMS_PATH, VIEWER, ItemPage, query=ItemQuery, handled=True, streamed=True, deep=True
)
SHOW_ITEM = Operation(
    items.show,
    "GET",
    ITEM_PATH,
    VIEWER,
    ItemDetails,
    read_as=Item,
    to_result=check_whole,
    text=item_lines,
    served_by=item_resources.show,
    versioned=True,
    deep=True,
)
OPERATIONS = (
    PAGE_ITEMS,
    SHOW_ITEM,
    Operation(
        item_resources.put,
        "PUT",
        ITEM_PATH,
        WORKER,
        ItemDetails,
        body=ItemData,
        text=item_lines,
        statuses=(200, 201),
        versioned=True,
        traced=True,
        name="items.put",
        description="An item that a worker holds stays as it was handed out: 409 `item-claimed`.",
    ),
    Operation(
        items.save,
        "PATCH",
        ITEM_PATH,
        WORKER,
        ItemDetails,
        read_as=Item,
        text=item_lines,
        body=ItemChanges,
        whole="changes",
        served_by=item_resources.save,
        versioned=True,
        deep=True,
    ),
    Operation(
        item_resources.remove,
        "DELETE",
        ITEM_PATH,
        WORKER,
        Deleted,
        value="deleted",
        versioned=True,
        name="items.remove",
        description="To give up on it instead, `POST /v1/lists/{list}/items/abandon`.",
    ),
    Operation(
        results.of_item,
        "GET",
        f"{ITEM_PATH}/results",
        VIEWER,
        ResultPage,
        query=HistoryQuery,
        value="results",
        name="items.results",
    ),
    Operation(
        failures.of_item,
        "GET",
        f"{ITEM_PATH}/failures",
        VIEWER,
        ItemFailurePage,
        query=HistoryQuery,
        value="failures",
        name="items.failures",
    ),
)
