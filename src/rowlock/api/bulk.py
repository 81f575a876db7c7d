"""What crosses a process when many items are changed by their keys."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from rowlock import items
from rowlock.api.lists import ITEMS_PATH
from rowlock.api.operation import Operation
from rowlock.failures import truncate_message
from rowlock.names import check_keys
from rowlock.roles import Role

KEYS_PER_REQUEST = 10_000
"""More are sent in several requests: a server bounds the size of a body."""


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
        """The keys in as many requests as they take, each of them a transaction; none if there are no keys."""
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


class BulkQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which items, where no keys are sent."""

    state: Annotated[Literal["failed"], Meta(description="All failed items instead of keys in the body.")] | None = None
    error: Annotated[str, Meta(description="Of those only whose last error says this.")] | None = None
    dry_run: Annotated[bool, Meta(description="Say how many it would be, and do nothing.")] = False


class IncrementQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept with the items."""

    error: Annotated[str, Meta(description="What went wrong.")] | None = None


class Counted(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many items were changed, in the first field."""

    def text(self) -> str:
        """One line, which tells whether anything was done."""
        name, *_ = self.__struct_fields__
        return f"{'would_be_' if getattr(self, 'dry_run', False) else ''}{name}\t{getattr(self, name)}\n"


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


class Incremented(msgspec.Struct, frozen=True):
    """How many items have one more failed attempt."""

    incremented: int


KEY_LINES = str | KeyOf

INCREMENT_ITEMS = Operation(
    items.increment,
    "POST",
    f"{ITEMS_PATH}/increment",
    Role.WORKER,
    Incremented,
    query=IncrementQuery,
    body=FailedKeys,
    line=KEY_LINES,
    value="incremented",
    idempotent=False,
    keyed=True,
    description="A repeated request counts again; under an Idempotency-Key it does not.",
)
DELETE_ITEMS = Operation(
    items.done,
    "POST",
    f"{ITEMS_PATH}/delete",
    Role.WORKER,
    Deleted,
    query=BulkQuery,
    body=Keys,
    line=KEY_LINES,
    value="deleted",
    handled=True,
    description="With `state=failed`, give up all failed ones, which needs the role operator: the tally counts these as"
    " abandoned, the others as done.",
)
RETRY_ITEMS = Operation(
    items.retry,
    "POST",
    f"{ITEMS_PATH}/retry",
    Role.OPERATOR,
    Retried,
    query=BulkQuery,
    body=Keys,
    line=KEY_LINES,
    value="retried",
    handled=True,
)
ABANDON_ITEMS = Operation(
    items.abandon,
    "POST",
    f"{ITEMS_PATH}/abandon",
    Role.OPERATOR,
    Abandoned,
    query=BulkQuery,
    body=Keys,
    line=KEY_LINES,
    value="abandoned",
    handled=True,
)
OPERATIONS = (INCREMENT_ITEMS, DELETE_ITEMS, RETRY_ITEMS, ABANDON_ITEMS)
