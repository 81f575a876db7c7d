"""Values that verbs take and return: items, counts, settings. Frozen structs without behaviour."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import isfinite
from typing import Any

import msgspec

from rowlock import nesting, validation_errors
from rowlock.durations import Duration, DurationOrTime, milliseconds, parse_range
from rowlock.errors import Invalid, InvalidSetting
from rowlock.list_limits import ConcurrencyBy, ListLimits, check_attempts, check_concurrency, parse_rate
from rowlock.names import check_key, check_name
from rowlock.processors import Processor, refuse_secrets

DEFAULT_PRIORITY = 5
PRIORITIES = range(10)
MAX_DATA_BYTES = 256 * 1024
GATES = range(2**31)
MAX_GATE_NAME_CHARACTERS = 60

NO_DATA = msgspec.Raw(b"null")
"""The data of an item that has none."""

_EPOCH, _MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)


def to_datetime(milliseconds: int) -> datetime:
    """Make an aware datetime of milliseconds since 1970, as the database's clock counts them."""
    return _EPOCH + _MILLISECOND * milliseconds  # a third of the time that a new timedelta takes


def is_finite(data: Any) -> bool:
    """Return whether all numbers in it are finite: JSON would silently make null of others."""
    if isinstance(data, dict):
        return all(map(is_finite, data.values()))
    if isinstance(data, list | tuple):
        return all(map(is_finite, data))
    return not isinstance(data, float) or isfinite(data)


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


class Added(msgspec.Struct, frozen=True):
    """The result of an add: how many items are new, and how many were on the list already."""

    added: int
    existing: int


class Item(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename={"raw": "data"}):
    """One item of a list, as it stood when it was read.

    It is a row of the database and JSON over HTTP and on the command line: a field is added here and in `item_columns`.
    """

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

    @property
    def data(self) -> Any:
        """The item's data, decoded on each access; InvalidData if it is nested deeper than is allowed."""
        text = self.raw_data
        return None if text is None else nesting.decode(text, f"the data of {self.key!r}")

    @property
    def raw_data(self) -> str | None:
        """The item's data as JSON text; None if it has none."""
        return None if self.raw == NO_DATA else bytes(self.raw).decode()


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
    """What has happened to a list since its creation, in numbers of items."""

    added: int = 0
    done: int = 0
    retried: int = 0
    moved: int = 0
    failed: int = 0
    abandoned: int = 0


class GateInfo(msgspec.Struct, frozen=True):
    """One gate of a list: passed, open or shut, with its counts and progress."""

    number: int
    name: str | None
    state: str
    counts: Counts
    progress: Progress


class Then(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An item that a list's completion adds to another list; its key is the first list's name unless one is given."""

    list: str
    key: str | None = None
    data: Any = None
    gate: int | None = None
    priority: int = DEFAULT_PRIORITY

    def __post_init__(self) -> None:
        check_name(self.list)
        if self.key is not None:
            check_key(self.key)
        if self.priority not in PRIORITIES or (self.gate is not None and self.gate not in GATES):
            raise InvalidSetting(
                f"gate and priority of then must be from 0, and 0 to 9, got {self.gate} and {self.priority}"
            )
        with suppress(TypeError, ValueError):  # data that cannot be written as JSON is refused where it is stored
            nesting.encode(self.data, "data of then", error=InvalidSetting)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of a list."""

    attempts: int | None = None
    """How often an item may fail before it is given up, 0 for no limit; a handler's own number takes precedence."""
    backoff: str | None = None
    """How long to wait after a failure, from the first to the longest wait: `1s..10m`."""
    keep_results: bool = False
    """Whether results of done items are stored."""
    keep_for: str = "7d"
    """How long results and errors are kept."""
    manual: bool = False
    """Whether the list's gate is moved only by hand."""
    exclusive: bool = False
    """Whether one session at a time works the list, in order."""
    gates: tuple[str, ...] = ()
    """Names for the gates, from gate 0 on."""
    then: tuple[Then, ...] = ()
    """Items that its completion adds to other lists."""
    processor: Processor | None = None
    """The HTTP service that processes the list's items."""
    concurrency: int | None = None
    """How many items may be claimed at once, by all workers together."""
    rate: str | None = None
    """How many items are handed out per period: `100/1m`."""
    concurrency_by: ConcurrencyBy | None = None
    """How many items of each family may be claimed at once."""

    def __post_init__(self) -> None:
        check_attempts(self.attempts)
        milliseconds(self.keep_for)
        if len(set(self.gates)) < len(self.gates) or not all(_is_gate_name(name) for name in self.gates):
            raise InvalidSetting(
                f"gates must be different names of printable text that are not numbers, got {list(self.gates)}"
            )
        if self.backoff is not None:
            parse_range(self.backoff)
        if self.processor is not None:
            refuse_secrets(self.processor)
        self._check_limits()

    def _check_limits(self) -> None:
        if self.concurrency is not None:
            check_concurrency(self.concurrency)
        if self.rate is not None:
            parse_rate(self.rate)
        if self.exclusive and self.concurrency_by is not None:
            raise InvalidSetting(
                "exclusive and concurrency_by exclude each other: one keeps the order of items, the other changes it",
                "set one of the two",
            )

    @property
    def limits(self) -> ListLimits | None:
        """The limits of the list's claims; None if it has none."""
        rate = None if self.rate is None else parse_rate(self.rate)
        found = ListLimits(self.concurrency, rate, self.concurrency_by)
        return None if found == ListLimits() else found

    @property
    def separator(self) -> str | None:
        """What a key's family ends at, if families are limited."""
        return None if self.concurrency_by is None else self.concurrency_by.separator

    @property
    def keep(self) -> int:
        """How long results and errors are kept, in milliseconds."""
        return milliseconds(self.keep_for)

    def gate_number(self, gate: int | str) -> int:
        """Return the number of a gate, which may be given by its name."""
        if isinstance(gate, int) and not isinstance(gate, bool) and gate in GATES:
            return gate
        if gate in self.gates:
            return self.gates.index(gate)
        known = f"its gates are {', '.join(self.gates)}" if self.gates else "name them with the setting gates"
        raise Invalid(f"gate must be a whole number from 0, or the name of a gate, got {gate!r}", known)

    def gate_name(self, number: int) -> str | None:
        """Return the name of a gate; None if it has none."""
        return self.gates[number] if number < len(self.gates) else None

    def changed(self, **changes: Any) -> "Settings":
        """Return the settings with some changes; refuse an unknown name or an invalid value."""
        known = msgspec.structs.asdict(self)
        for name in changes:
            if name not in known:
                raise InvalidSetting(f"unknown setting {name!r}", f"the settings are {', '.join(sorted(known))}")
        try:
            return msgspec.convert(known | changes, Settings)
        except msgspec.ValidationError as error:
            what = f"invalid setting: {validation_errors.describe(error)}"
            raise InvalidSetting(what, "see the reference of settings") from None


def _is_gate_name(name: str) -> bool:
    return (
        0 < len(name) <= MAX_GATE_NAME_CHARACTERS and name.isprintable() and name == name.strip() and not name.isdigit()
    )


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


__all__ = [
    "DEFAULT_PRIORITY",
    "MAX_DATA_BYTES",
    "NO_DATA",
    "PRIORITIES",
    "Added",
    "ConcurrencyBy",
    "Counts",
    "Duration",
    "DurationOrTime",
    "Failure",
    "GateInfo",
    "Item",
    "ListInfo",
    "ListLimits",
    "NewItem",
    "Notification",
    "Processor",
    "Progress",
    "Published",
    "RecordInfo",
    "Settings",
    "State",
    "Subscription",
    "Then",
    "TopicInfo",
    "is_finite",
    "to_datetime",
]
