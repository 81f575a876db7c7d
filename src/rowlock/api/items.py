"""Items over HTTP: bodies, queries, answers and operations."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from rowlock import failures, item_input, item_resources, items
from rowlock.api.documents import Page, Value, page, row
from rowlock.api.lists import LIST_PATH
from rowlock.api.operation import Operation
from rowlock.failures import truncate_message
from rowlock.item_input import CheckedChanges
from rowlock.item_search import FoundItem, ItemFilter, MatchCount
from rowlock.model import DEFAULT_PRIORITY, Added, Failure, Item, ItemDetails, State, to_datetime
from rowlock.names import check_keys
from rowlock.roles import Role

VIEWER, WORKER, OPERATOR, ADMIN = Role
ITEMS_PATH = f"{LIST_PATH}/items"
ITEM_PATH = f"{ITEMS_PATH}/{{key}}"
KEYS_PER_REQUEST = 10_000
"""More are sent in several requests: a server bounds the size of a body."""


class ItemToAdd(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An item to be added: its key, and what differs from the defaults."""

    key: str
    data: Any = None
    due: str | float | None = None
    """A length of time such as `5m`, seconds, or a moment as ISO 8601 writes it."""
    gate: int | None = None
    priority: int | None = None

    def entry(self) -> dict[str, Any]:
        """Return the item as the engine reads it, without what was left out."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


class ItemsToAdd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Items to be added: keys, or objects with a key."""

    items: list[str | ItemToAdd]


class AddQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the items of one add have in common."""

    due: Annotated[str, Meta(description="When they become ready: `5m`, or a time as ISO 8601 writes it.")] | None = (
        None
    )
    gate: Annotated[int, Meta(description="The gate that they wait at; the list's own if left out.")] | None = None
    priority: Annotated[int, Meta(description="0 goes first, 9 last.")] = DEFAULT_PRIORITY
    strict: Annotated[bool, Meta(description="Refuse them all if one is there already.")] = False


class UploadProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far an upload has come: the lines that were read and what they have added."""

    lines: int
    added: int
    existing: int
    done_before: int = 0

    def text(self) -> str:
        """Return one line for each batch that was committed."""
        return row((self.lines, self.added, self.existing))


class ItemPage(Page, frozen=True):
    """A page of items in the byte order of their keys."""

    items: list[Item]
    next: str | None
    """What to give as `after` for the next page; none if this is the last."""

    def text(self) -> str:
        """Return a line for each item."""
        return "".join([f"{item.key}\t{item.attempts}\t{item.state}\n" for item in self.items])


def _found_cells(item: FoundItem) -> tuple[Any, ...]:
    return item.key, item.attempts, item.state, " ".join((item.error or "").split())


FoundPage = page(
    "FoundPage",
    "items",
    of=FoundItem,
    cells=_found_cells,
    cursor="key",
    doc="Items that match, without their data. There may be none, and `next` says where to search on.",
)


class ItemChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Changes of an item; fields that are left out stay."""

    data: Any = UNSET
    due: str | float | UnsetType | None = UNSET
    """When it becomes ready; null is at once."""
    priority: int | UnsetType = UNSET

    def to_argument(self, _: str, key: str) -> CheckedChanges:
        """Return the changes as the verb takes them."""
        return item_input.read_changes(key, data=self.data, due=self.due, priority=self.priority)

    @classmethod
    def from_argument(cls, changes: CheckedChanges) -> "ItemChanges":
        """Return the changes as they are sent."""
        data = msgspec.Raw(changes.data.encode()) if isinstance(changes.data, str) else changes.data
        due = due_text(*changes.due) if isinstance(changes.due, tuple) else changes.due
        return ItemChanges(data, due, changes.priority)


class ItemData(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an item carries, and where it stands if it is new."""

    data: Any = None
    due: str | float | UnsetType | None = UNSET
    gate: int | None = None
    priority: int | UnsetType = UNSET


class KeyOf(msgspec.Struct, frozen=True):
    """The key of an item; other fields are ignored, so that a page can be sent back."""

    key: str


class Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keys of items."""

    keys: Sequence[str]

    def __post_init__(self) -> None:
        keys = [each.key if isinstance(each, KeyOf) else each for each in self.keys]
        check_keys(keys)
        msgspec.structs.force_setattr(self, "keys", list(dict.fromkeys(keys)))

    def parts(self) -> Iterator["Keys"]:
        """Split the keys into as many requests as they take, each of them a transaction; none if there are no keys."""
        for first in range(0, len(self.keys), KEYS_PER_REQUEST):
            yield msgspec.structs.replace(self, keys=self.keys[first : first + KEYS_PER_REQUEST])


class FailedKeys(Keys, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Keys of items that have failed once more."""

    error: str | None = None
    """What went wrong, where it is too long for the query."""

    def __post_init__(self) -> None:
        Keys.__post_init__(self)
        if self.error is not None:
            msgspec.structs.force_setattr(self, "error", truncate_message(self.error))


class IncrementQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The error that is stored with the items."""

    error: Annotated[str, Meta(description="What went wrong.")] | None = None


class FilterQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which items: those that fulfil every condition that is given."""

    state: (
        Annotated[State, Meta(description="Only items that are ready, delayed, gated, claimed or failed.")] | None
    ) = None
    prefix: Annotated[str, Meta(description="Only items whose key begins so.")] = ""
    error: Annotated[str, Meta(description="Only items whose last error contains this text.")] | None = None
    attempts: Annotated[int, Meta(description="Only items with at least so many failed attempts.")] | None = None
    gate: Annotated[int, Meta(description="Only items of this gate.")] | None = None
    kind: Annotated[str, Meta(description="Only items whose last error has this kind, and `shape`.")] | None = None
    shape: Annotated[str, Meta(description="Only items whose last error has this shape, and `kind`.")] | None = None

    def filter(self) -> ItemFilter:
        """Return the conditions as verbs take them."""
        return ItemFilter(self.state, self.prefix, self.error, self.attempts, self.gate, self.kind, self.shape)


class SearchQuery(FilterQuery, frozen=True, forbid_unknown_fields=True, rename={"limit": "count"}):
    """Which items, and which page of them."""

    limit: Annotated[int, Meta(description="At most so many.")] = 100
    after: Annotated[str, Meta(description="Strictly after this key.")] = ""


class CountQuery(FilterQuery, frozen=True, forbid_unknown_fields=True):
    """Which items, and after which key."""

    after: Annotated[str, Meta(description="Strictly after this key.")] = ""
    retryable: Annotated[bool, Meta(description="Only items that are delayed or failed.")] = False


class BulkQuery(FilterQuery, frozen=True, forbid_unknown_fields=True):
    """Which items, where no keys are sent: all that match."""

    dry_run: Annotated[bool, Meta(description="Count the items, and change nothing.")] = False


class Counted(Value, frozen=True, omit_defaults=True):
    """How many items were changed, in the first field."""

    def text(self) -> str:
        """Return one line, which tells whether anything was done."""
        name, *_ = self.__struct_fields__
        return f"{'would_be_' if getattr(self, 'dry_run', False) else ''}{name}\t{self.value}\n"


class ItemsDone(Counted, frozen=True, omit_defaults=True):
    """How many items are done."""

    done: int
    dry_run: bool = False


class Saved(Value, frozen=True):
    """How many items were changed."""

    saved: int


class Deleted(Counted, frozen=True, omit_defaults=True):
    """How many items were taken off."""

    deleted: int
    dry_run: bool = False


class Abandoned(Counted, frozen=True, omit_defaults=True):
    """How many items were given up."""

    abandoned: int
    dry_run: bool = False


class Retried(Counted, frozen=True, omit_defaults=True):
    """How many items are ready again."""

    retried: int
    dry_run: bool = False


class Incremented(Value, frozen=True):
    """How many items have one more failed attempt."""

    incremented: int


def due_text(delay: int, at: int | None) -> str | None:
    """Return a delay or a moment in milliseconds as bodies have it; None is at once."""
    if at is not None:
        return to_datetime(at).isoformat()
    return f"{delay}ms" if delay else None


ADD_ITEMS = Operation(
    None,
    "POST",
    ITEMS_PATH,
    WORKER,
    Added,
    body=ItemsToAdd,
    line=str | ItemToAdd,
    query=AddQuery,
    keyed=True,
    name="items.add",
)
PAGE_ITEMS = Operation(items.page, "GET", ITEMS_PATH, VIEWER, ItemPage, streamed=True, deep=True)
SHOW_ITEM = Operation(
    item_resources.show, "GET", ITEM_PATH, VIEWER, ItemDetails, also={items.show: Item}, deep=True, name="items.show"
)
BULK: dict[str, Any] = {"body": Keys, "line": str | KeyOf, "query": BulkQuery}
DONE_ITEMS = Operation(
    None,
    "POST",
    f"{ITEMS_PATH}/done",
    WORKER,
    ItemsDone,
    **BULK,
    name="items.done_matching",
    description="All that match a filter needs the role operator.",
)
SAVE_ITEMS = Operation(
    None,
    "PATCH",
    ITEMS_PATH,
    OPERATOR,
    Saved,
    body=ItemChanges,
    query=FilterQuery,
    name="items.save_matching",
)
SEARCH_ITEMS = Operation(None, "GET", f"{LIST_PATH}/search", VIEWER, FoundPage, query=SearchQuery, name="items.search")
COUNT_ITEMS = Operation(
    None, "GET", f"{LIST_PATH}/search/count", VIEWER, MatchCount, query=CountQuery, name="items.count_matching"
)
DELETE_ITEMS = Operation(
    items.done,
    "POST",
    f"{ITEMS_PATH}/delete",
    WORKER,
    Deleted,
    **BULK,
    description="With `state=failed`, give up all failed ones, which needs the role operator: the tally counts these as"
    " abandoned, the others as done.",
)
RETRY_ITEMS = Operation(items.retry, "POST", f"{ITEMS_PATH}/retry", OPERATOR, Retried, **BULK)
ABANDON_ITEMS = Operation(items.abandon, "POST", f"{ITEMS_PATH}/abandon", OPERATOR, Abandoned, **BULK)
OPERATIONS = (
    ADD_ITEMS,
    PAGE_ITEMS,
    SHOW_ITEM,
    Operation(
        item_resources.put,
        "PUT",
        ITEM_PATH,
        WORKER,
        ItemDetails,
        body=ItemData,
        name="items.put",
        description="An item that a worker holds stays as it was handed out: 409 `item-claimed`.",
    ),
    Operation(
        item_resources.save,
        "PATCH",
        ITEM_PATH,
        WORKER,
        ItemDetails,
        body=ItemChanges,
        whole="changes",
        also={items.save: Item},
        deep=True,
        name="items.save",
    ),
    Operation(
        item_resources.remove,
        "DELETE",
        ITEM_PATH,
        WORKER,
        Deleted,
        name="items.remove",
        description="To give up on it instead, `POST /v1/lists/{list}/items/abandon`.",
    ),
    Operation(
        failures.of_item,
        "GET",
        f"{ITEM_PATH}/failures",
        VIEWER,
        page("ItemFailurePage", "failures", of=Failure),
        name="items.failures",
    ),
    Operation(
        items.increment,
        "POST",
        f"{ITEMS_PATH}/increment",
        WORKER,
        Incremented,
        body=FailedKeys,
        line=str | KeyOf,
        query=IncrementQuery,
        keyed=True,
        description="A repeated request counts again; under an Idempotency-Key it does not.",
    ),
    SEARCH_ITEMS,
    COUNT_ITEMS,
    SAVE_ITEMS,
    DONE_ITEMS,
    DELETE_ITEMS,
    RETRY_ITEMS,
    ABANDON_ITEMS,
)
