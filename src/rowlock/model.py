"""The values that verbs take and give: items, counts, settings. Plain, frozen, no behaviour but reading."""

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
    """Whether JSON can say all numbers in it; what is no number would silently become null."""
    if isinstance(data, dict):
        return all(map(is_finite, data.values()))
    if isinstance(data, list | tuple):
        return all(map(is_finite, data))
    return not isinstance(data, float) or isfinite(data)


class State(StrEnum):
    """Where an item stands, with the icon that people see."""

    READY = "ready"
    DELAYED = "delayed"
    GATED = "gated"
    CLAIMED = "claimed"
    FAILED = "failed"

    @property
    def icon(self) -> str:
        """One character beside the word, for terminals and pages."""
        return {"ready": "○", "delayed": "◷", "gated": "⧗", "claimed": "▶", "failed": "✕"}[self]


class NewItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item to be added: its key, and what differs from the defaults."""

    key: str
    data: Any = None
    due: DurationOrTime | None = None
    gate: int | str | None = None
    priority: int = DEFAULT_PRIORITY


class Added(msgspec.Struct, frozen=True):
    """What an add did: how many items are new, how many were there already."""

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
    """One failed attempt at an item: when, who, and what was said."""

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
    """How many items of a list stand in each state."""

    ready: int = 0
    delayed: int = 0
    gated: int = 0
    claimed: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        """All items that are on the list."""
        return self.ready + self.delayed + self.gated + self.claimed + self.failed


class Progress(msgspec.Struct, frozen=True):
    """What has happened to a list since it was made, by number of items."""

    added: int = 0
    done: int = 0
    retried: int = 0
    moved: int = 0
    failed: int = 0
    abandoned: int = 0


class GateInfo(msgspec.Struct, frozen=True):
    """One gate of a list: whether it is passed, open or shut, what stands there and what has happened there."""

    number: int
    name: str | None
    state: str
    counts: Counts
    progress: Progress


class Then(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a list's completion adds to another list: an item, named after the complete list unless a key is given."""

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
                "what follows a list has no such gate or priority", "gates count from 0, priorities are 0 to 9"
            )
        with suppress(TypeError, ValueError):  # what cannot be written at all is refused where it is
            nesting.encode(self.data, "data of then", error=InvalidSetting)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What may be set per list."""

    attempts: int | None = None
    """How often an item may fail before it is given up, 0 for no limit; a handler's own number goes first."""
    backoff: str | None = None
    """How long to wait after a failure, from first to longest: `1s..10m`."""
    keep_results: bool = False
    """Whether done items leave a row in the results."""
    keep_for: str = "7d"
    """How long results and errors are kept."""
    manual: bool = False
    """Whether the list's gate moves only by hand."""
    exclusive: bool = False
    """Whether one session at a time works the list, in order."""
    gates: tuple[str, ...] = ()
    """Names for the gates, from gate 0 on."""
    then: tuple[Then, ...] = ()
    """What its completion adds to other lists."""
    processor: Processor | None = None
    """Who works the list over HTTP."""
    concurrency: int | None = None
    """How many items may be in hand at once, over all workers."""
    rate: str | None = None
    """How many items are handed out in any such while: `100/1m`."""
    concurrency_by: ConcurrencyBy | None = None
    """How many items of each family may be in hand at once."""

    def __post_init__(self) -> None:
        check_attempts(self.attempts)
        milliseconds(self.keep_for)
        if len(set(self.gates)) < len(self.gates) or not all(_is_gate_name(name) for name in self.gates):
            raise InvalidSetting(
                "a gate's name is printable text that is no number, each once", "such as match, notify"
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
                "an exclusive list is worked in order, and concurrency_by lets families pass each other",
                "set one of the two",
            )

    @property
    def limits(self) -> ListLimits | None:
        """What claims must not go beyond, if anything."""
        rate = None if self.rate is None else parse_rate(self.rate)
        found = ListLimits(self.concurrency, rate, self.concurrency_by)
        return None if found == ListLimits() else found

    @property
    def separator(self) -> str | None:
        """What a key's family ends at, where families are limited."""
        return None if self.concurrency_by is None else self.concurrency_by.separator

    @property
    def keep(self) -> int:
        """How long results and errors are kept, in milliseconds."""
        return milliseconds(self.keep_for)

    def gate_number(self, gate: int | str) -> int:
        """The number of a gate that may be given by its name."""
        if isinstance(gate, int) and not isinstance(gate, bool) and gate in GATES:
            return gate
        if gate in self.gates:
            return self.gates.index(gate)
        known = f"its gates are {', '.join(self.gates)}" if self.gates else "name them with the setting gates"
        raise Invalid(f"there is no gate {gate!r}", f"a gate is a whole number from 0, or a name; {known}")

    def gate_name(self, number: int) -> str | None:
        """The name of a gate, if it has one."""
        return self.gates[number] if number < len(self.gates) else None

    def changed(self, **changes: Any) -> "Settings":
        """These settings with some of them different; an unknown name or wrong value is refused."""
        known = msgspec.structs.asdict(self)
        for name in changes:
            if name not in known:
                raise InvalidSetting(f"there is no setting {name!r}", f"the settings are {', '.join(sorted(known))}")
        try:
            return msgspec.convert(known | changes, Settings)
        except msgspec.ValidationError as error:
            what = f"a setting cannot have that value: {validation_errors.describe(error)}"
            raise InvalidSetting(what, "the reference of settings tells what each takes") from None


def _is_gate_name(name: str) -> bool:
    return (
        0 < len(name) <= MAX_GATE_NAME_CHARACTERS and name.isprintable() and name == name.strip() and not name.isdigit()
    )


class ListInfo(msgspec.Struct, frozen=True):
    """A list as a whole: its state, settings, counts and progress."""

    name: str
    state: str
    gate: int
    sealed: bool
    version: int
    settings: Settings
    counts: Counts
    progress: Progress
    holder: str | None = None
    """Who has the list, if it is exclusive and somebody has it."""


class TopicInfo(msgspec.Struct, frozen=True):
    """A topic: the kind of each field by name, and how long its history is kept."""

    name: str
    fields: dict[str, str]
    keep_for: str


class Subscription(msgspec.Struct, frozen=True):
    """Who wants to be told, and of which records."""

    id: int
    subscriber: str
    predicates: dict[str, Any]
    created_at: datetime


class Published(msgspec.Struct, frozen=True):
    """What became of a record that was to be published: its number, or what is wrong with it."""

    id: int | None
    error: str = ""


class RecordInfo(msgspec.Struct, frozen=True):
    """A record as it stands: how many it was matched with, and whether all who shall be told have been."""

    topic: str
    id: int
    key: str | None
    subject: int
    """The first record of the same key; nobody is told twice of one subject."""
    record: dict[str, Any]
    published_at: datetime
    matched: int
    matched_at: datetime | None
    finished_at: datetime | None


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who is to be told of a record, or has been, and the predicates that are the reason."""

    topic: str
    subscriber: str
    record: dict[str, Any]
    record_id: int
    predicates: dict[str, Any]
    key: str
    """The same however often it is sent: what receivers know it by."""
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
