"""Values that verbs take and return: items, counts, versions. Frozen structs without behaviour."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from rowlock import json_codec
from rowlock.durations import Duration as Duration
from rowlock.durations import DurationOrTime as DurationOrTime
from rowlock.errors import StaleVersion
from rowlock.settings import DEFAULT_PRIORITY as DEFAULT_PRIORITY
from rowlock.settings import GATES as GATES
from rowlock.settings import PRIORITIES as PRIORITIES
from rowlock.settings import ConcurrencyBy as ConcurrencyBy
from rowlock.settings import ListLimits as ListLimits
from rowlock.settings import Processor as Processor
from rowlock.settings import Settings as Settings
from rowlock.settings import Then as Then

S = TypeVar("S", bound=msgspec.Struct)

MAX_DATA_BYTES = 256 * 1024

NO_DATA = msgspec.Raw(b"null")
"""The data of an item that has none."""

Versions = int | Collection[int]
"""One version, or several of which any will do."""

ANY_VERSION: Collection[int] = range(2**63)
"""Requires that the thing exists, at whatever version."""

_EPOCH, _MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)


def to_datetime(milliseconds: int) -> datetime:
    """Make an aware datetime of milliseconds since 1970, as the database's clock counts them."""
    return _EPOCH + _MILLISECOND * milliseconds  # a third of the time that a new timedelta takes


def check_version(what: str, actual: int | None, *, version: Versions | None = None, absent: bool = False) -> None:
    """Raise StaleVersion unless the thing is at the required version, or does not exist if it must be `absent`.

    An `actual` version of None means that it does not exist.
    """
    if absent and actual is not None:
        raise StaleVersion(
            f"{what} exists already, at version {actual}", "leave If-None-Match out", asked=None, version=actual
        )
    if version is None:
        return
    allowed = (version,) if isinstance(version, int) else version
    if actual is not None and actual in allowed:
        return
    named = [] if allowed is ANY_VERSION else sorted(allowed)
    fields = {"asked": named[0] if len(named) == 1 else named or None, "version": actual}
    if actual is None:
        raise StaleVersion(f"{what} does not exist", "leave If-Match out", **fields)
    raise StaleVersion(f"{what} is at version {actual}, not {', '.join(map(str, named))}", "read it again", **fields)


class State(StrEnum):
    """The state of an item."""

    READY = "ready"
    DELAYED = "delayed"
    GATED = "gated"
    CLAIMED = "claimed"
    FAILED = "failed"

    @property
    def icon(self) -> str:
        """One character for terminals and web pages."""
        return {"ready": "○", "delayed": "◷", "gated": "⧗", "claimed": "▶", "failed": "✕"}[self]


class NewItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item to add: its key, and what differs from the defaults."""

    key: str
    data: Any = None
    due: DurationOrTime | None = None
    gate: int | str | None = None
    priority: int = DEFAULT_PRIORITY


class Added(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of an add: how many items are new, and how many were on the list already."""

    added: int
    existing: int
    done_before: int = 0
    """How many were done before; only a list with the setting `once` remembers that."""

    def plus(self, other: "Added") -> "Added":
        """Return the sums of two adds."""
        return Added(self.added + other.added, self.existing + other.existing, self.done_before + other.done_before)


class Item(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename={"raw": "data"}):
    """One item of a list, as it stood when it was read."""

    # A row of the database, and JSON over HTTP and on the command line. A new field is added here, and to
    # PAYLOAD_COLUMNS if it is text that the database only keeps.
    key: str
    state: State
    attempts: int
    gate: int
    priority: int
    position: int
    due: datetime | None
    """When a delayed item becomes ready."""
    failed_at: datetime | None
    """When a failed item gave up."""
    version: int
    raw: msgspec.Raw
    """The item's data as JSON, not decoded; `data` decodes it."""
    trace: str | None
    """The W3C traceparent under which the item was added."""
    list: str
    token: str | None = None
    """The claim under which the item was handed out."""
    gate_name: str | None = None
    """The name of its gate, for an item that a worker gives to a handler."""

    @property
    def data(self) -> Any:
        """The item's data, decoded on each access; InvalidData if it is nested deeper than is allowed."""
        text = self.raw_data
        return None if text is None else json_codec.decode(text, f"the data of {self.key!r}")

    @property
    def raw_data(self) -> str | None:
        """The item's data as JSON text; None if it has none."""
        return None if self.raw == NO_DATA else bytes(self.raw).decode()


COMPUTED_FIELDS = ("state", "list", "token", "gate_name")
"""Fields of an item that are no columns of its table."""
STORED_COLUMNS = tuple(name for name in Item.__struct_encode_fields__ if name not in COMPUTED_FIELDS)
PAYLOAD_COLUMNS = ("data", "trace")
"""Columns that hold text as it was given when the item was added; no statement looks into them."""
NO_PAYLOAD: dict[str, str | None] = dict.fromkeys(PAYLOAD_COLUMNS)
"""The payload of an item that carries nothing."""
CHANGEABLE_COLUMNS = ("data",)
"""Payload that `save` can change."""
SHARED_COLUMNS = ("gate", "priority", "due", "failed_at")
"""Columns that are the same for all items of a claim: it covers one gate and priority, and what is due later or has
failed is not claimed."""
CLAIMED_COLUMNS = tuple(name for name in STORED_COLUMNS if name not in SHARED_COLUMNS)
"""Columns in which the items of a claim differ."""
ITEM_FRAGMENTS = {
    "item_columns": ", ".join(f"i.{name}" for name in STORED_COLUMNS),
    "claimed_columns": ", ".join(f"i.{name}" for name in CLAIMED_COLUMNS),
    "payload_columns": ", ".join(PAYLOAD_COLUMNS),
    "payload_parameters": ", ".join(f":{name}" for name in PAYLOAD_COLUMNS),
    "payload_types": ", ".join(f"{name} text" for name in PAYLOAD_COLUMNS),
    "payload_of_json": ", ".join(f"json_extract(value, '$.{name}')" for name in PAYLOAD_COLUMNS),
    "payload_changes": ", ".join(
        f"{name} = case when cast(:keeps_{name} as boolean) then i.{name} else cast(:{name} as text) end"
        for name in CHANGEABLE_COLUMNS
    ),
}
"""What stands for `{item_columns}` and the others in .sql files; `i` is the table of items, or what was read of it."""


class ItemStatus(msgspec.Struct, frozen=True):
    """What verbs that change items by their keys must know of each."""

    key: str
    gate: int
    attempts: int
    delayed: bool
    failed: bool


class Failure(msgspec.Struct, frozen=True):
    """One failed attempt at an item."""

    attempt: int
    at: datetime
    holder: str
    kind: str
    message: str
    traceback: str | None = None
    """Where a handler raised it; only the last failure of an item keeps it."""


class ItemDetails(Item, frozen=True, kw_only=True):
    """An item as it stands, and how it has failed, the newest failure first."""

    failures: list[Failure]

    @classmethod
    def of(cls, item: Item, failures: list[Failure]) -> "ItemDetails":
        """Add its failures to an item."""
        return cls(*msgspec.structs.astuple(item), failures=failures)


class Counts(msgspec.Struct, frozen=True):
    """How many items of a list are in each state."""

    ready: int = 0
    delayed: int = 0
    gated: int = 0
    claimed: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        """All items of the list."""
        return self.ready + self.delayed + self.gated + self.claimed + self.failed


class Progress(msgspec.Struct, frozen=True):
    """Numbers of items that were added, settled and removed since the list was created."""

    added: int = 0
    done: int = 0
    retried: int = 0
    moved: int = 0
    failed: int = 0
    abandoned: int = 0


def add_up(kind: type[S], numbers: Iterable[S]) -> S:
    """Add up structs of numbers, such as the counts of several lists, field by field."""
    return kind(*map(sum, zip(*map(msgspec.structs.astuple, numbers), strict=True)))


class GateInfo(msgspec.Struct, frozen=True):
    """One gate of a list: passed, open or shut, with its counts and progress."""

    number: int
    name: str | None
    state: str
    counts: Counts
    progress: Progress


class ListInfo(msgspec.Struct, frozen=True):
    """A list with its state, settings, counts and progress."""

    name: str
    state: str
    gate: int
    sealed: bool
    version: int
    settings: Settings
    counts: Counts
    progress: Progress
    holder: str | None = None
    """The holder of an exclusive list's lease, if there is one."""


class TopicInfo(msgspec.Struct, frozen=True):
    """A topic: the kind of each field by name, and how long its records are kept."""

    name: str
    fields: dict[str, str]
    keep_for: str


class Subscription(msgspec.Struct, frozen=True):
    """A subscriber, and the predicates of the records that it is notified of."""

    id: int
    subscriber: str
    predicates: dict[str, Any]
    created_at: datetime


class Published(msgspec.Struct, frozen=True):
    """The result of publishing a record: its id, or what is wrong with it."""

    id: int | None
    error: str = ""


class RecordInfo(msgspec.Struct, frozen=True):
    """A record, how many subscriptions it matched, and when all were notified."""

    topic: str
    id: int
    key: str | None
    subject: int
    """The id of the first record with the same key; a subscriber is notified once of a subject."""
    record: dict[str, Any]
    published_at: datetime
    matched: int
    matched_at: datetime | None
    finished_at: datetime | None


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """A notification of a subscriber about a record, and the predicates that matched."""

    topic: str
    subscriber: str
    record: dict[str, Any]
    record_id: int
    predicates: dict[str, Any]
    key: str
    """An idempotency key for receivers: the same however often it is sent."""
    attempts: int = 0
    number: int | None = None
    matched_at: datetime | None = None
    delivered_at: datetime | None = None
