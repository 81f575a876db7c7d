"""Forms: what items look like in bodies, as they are sent and as they are shown."""

from datetime import datetime
from typing import Any

import msgspec

from rowlock import model
from rowlock.errors import InvalidDuration
from rowlock.http.pages import Page
from rowlock.http.texts import form, row, text
from rowlock.model import Failure, Item, State


class NewItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An item to be added: its key, and what differs from the defaults."""

    key: str
    data: Any = None
    due: str | float | None = None
    """A length of time such as `5m`, seconds, or a moment as ISO 8601 writes it."""
    gate: int | None = None
    priority: int | None = None


class NewItems(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Items to be added: keys, or objects with a key."""

    items: list[str | NewItem]


class ItemShown(msgspec.Struct, frozen=True):
    """An item as it stands."""

    key: str
    state: State
    attempts: int
    gate: int
    priority: int
    position: int
    due: datetime | None
    failed_at: datetime | None
    version: int
    data: Any
    trace: str | None
    """The W3C traceparent under which it was added."""


class ItemDetails(ItemShown, frozen=True):
    """An item as it stands, and how it has failed."""

    failures: list[Failure]
    list: str


class ItemPage(Page, frozen=True):
    """A page of items in the byte order of their keys."""

    items: list[ItemShown]
    next: str | None
    """What to give as `after` for the next page; none if this is the last."""


class Report(msgspec.Struct, frozen=True):
    """How far a stream has come: what it has added since it began."""

    lines: int
    added: int
    existing: int


def moment_of(due: str | float | None) -> Any:
    """When something becomes due, as JSON says it."""
    if not isinstance(due, str) or not _is_date(due):
        return due
    try:
        return datetime.fromisoformat(due)
    except ValueError:
        raise InvalidDuration(f"{due[:50]!r} is no time", "write it like 5m or 2030-01-31T12:00:00Z") from None


def _is_date(due: str) -> bool:
    return len(due) >= 10 and due[4] == "-" and due[:4].isdecimal()


def entry_of(given: str | NewItem) -> Any:
    """What was given, as the engine takes it: what was left out is what the others have in common."""
    if isinstance(given, str):
        return given
    said = {"data": given.data, "due": moment_of(given.due), "gate": given.gate, "priority": given.priority}
    return {"key": given.key, **{name: value for name, value in said.items() if value is not None}}


def shown(item: Item) -> ItemShown:
    """An item of the engine as it is shown."""
    return ItemShown(*_fields(item))


def details(item: Item, failures: list[Failure]) -> ItemDetails:
    """The same with its failures."""
    return ItemDetails(*_fields(item), failures, item.list)  # type: ignore[call-arg]


def _fields(item: Item) -> tuple[Any, ...]:
    return (
        item.key,
        item.state,
        item.attempts,
        item.gate,
        item.priority,
        item.position,
        item.due,
        item.failed_at,
        item.version,
        raw(item),
        item.trace,
    )


def raw(item: Item) -> Any:
    """An item's data, not read: JSON as it was stored."""
    return None if item.raw_data is None else msgspec.Raw(item.raw_data.encode())


@form(ItemPage)
def _rows(page: ItemPage) -> str:
    return "".join([f"{item.key}\t{item.attempts}\t{item.state}\n" for item in page.items])


@form(ItemDetails)
def _facts(item: ItemDetails) -> str:
    facts = (
        f"key\t{item.key}\nlist\t{item.list}\nstate\t{item.state}\nattempts\t{item.attempts}\n"
        f"gate\t{item.gate}\npriority\t{item.priority}\nversion\t{item.version}\n"
    )
    if item.due is None and item.failed_at is None and item.data is None and not item.failures:
        return facts
    rare = text({"due": item.due, "failed_at": item.failed_at, "data": item.data})
    return facts + rare + "".join(row(("failure", *_failure(each))) for each in item.failures)


def _failure(failure: Failure) -> tuple[Any, ...]:
    return failure.attempt, failure.at, failure.kind, failure.holder, " ".join(failure.message.split())


@form(model.Added)
def _added(added: model.Added) -> str:
    return f"added\t{added.added}\nexisting\t{added.existing}\n"


@form(Report)
def _report(report: Report) -> str:
    return row((report.lines, report.added, report.existing))
