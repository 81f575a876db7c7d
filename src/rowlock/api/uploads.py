"""What crosses a process when items are added."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock import items
from rowlock.api.lists import ITEMS_PATH
from rowlock.api.operation import Operation
from rowlock.api.text import row
from rowlock.model import DEFAULT_PRIORITY, Added
from rowlock.roles import Role

Due = Annotated[str, Meta(description="When they become ready: `5m`, or a time as ISO 8601 writes it.")]
AtGate = Annotated[int, Meta(description="The gate that they wait at; the list's own if left out.")]


class ItemToAdd(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An item to be added: its key, and what differs from the defaults."""

    key: str
    data: Any = None
    due: str | float | None = None
    """A length of time such as `5m`, seconds, or a moment as ISO 8601 writes it."""
    gate: int | None = None
    priority: int | None = None

    def entry(self) -> dict[str, Any]:
        """The item as the engine reads it: what was left out is what the others have in common."""
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in given.items() if value is not None}


class ItemsToAdd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Items to be added: keys, or objects with a key."""

    items: list[str | ItemToAdd]


class AddQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the items of one add have in common."""

    due: Due | None = None
    gate: AtGate | None = None
    priority: Annotated[int, Meta(description="0 goes first, 9 last.")] = DEFAULT_PRIORITY
    strict: Annotated[bool, Meta(description="Refuse them all if one is there already.")] = False


class UploadProgress(msgspec.Struct, frozen=True):
    """How far an upload has come: the lines that were read and what they have added."""

    lines: int
    added: int
    existing: int

    def text(self) -> str:
        """One line for each batch that was committed."""
        return row((self.lines, self.added, self.existing))


ADD_ITEMS = Operation(
    items.add,
    "POST",
    ITEMS_PATH,
    Role.WORKER,
    Added,
    query=AddQuery,
    body=ItemsToAdd,
    line=str | ItemToAdd,
    custom=True,
    keyed=True,
    streamed=True,
    summary="Add items; those that are there already stay as they are.",
    description="Lines of text are keys, one to a line; JSON is a document with `items`; NDJSON is a key or an item to"
    " a line. If one is wrong, nothing is added. Where the answer is NDJSON the body is read as a stream of any length"
    " instead, and committed batch by batch: each line of the answer tells what was added so far.",
)
