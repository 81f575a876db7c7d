"""Forms: what items look like in bodies, as they are sent and as they are shown."""

from datetime import datetime
from typing import Any

import msgspec

from rowlock import model
from rowlock.errors import InvalidDuration
from rowlock.http.pages import Page
from rowlock.http.texts import form, row, text
from rowlock.model import NO_DATA, Failure, Item, ItemDetails


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


class ItemPage(Page, frozen=True):
    """A page of items in the byte order of their keys."""

    items: list[Item]
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


@form(ItemPage)
def _rows(page: ItemPage) -> str:
    return "".join([f"{item.key}\t{item.attempts}\t{item.state}\n" for item in page.items])


@form(ItemDetails)
def _facts(item: ItemDetails) -> str:
    facts = (
        f"key\t{item.key}\nlist\t{item.list}\nstate\t{item.state}\nattempts\t{item.attempts}\n"
        f"gate\t{item.gate}\npriority\t{item.priority}\nversion\t{item.version}\n"
    )
    data = None if item.raw == NO_DATA else item.raw
    if item.due is None and item.failed_at is None and data is None and not item.failures:
        return facts
    rare = text({"due": item.due, "failed_at": item.failed_at, "data": data})
    return facts + rare + "".join(row(("failure", *_failure(each))) for each in item.failures)


def _failure(failure: Failure) -> tuple[Any, ...]:
    return failure.attempt, failure.at, failure.kind, failure.holder, " ".join(failure.message.split())


@form(model.Added)
def _added(added: model.Added) -> str:
    return f"added\t{added.added}\nexisting\t{added.existing}\n"


@form(Report)
def _report(report: Report) -> str:
    return row((report.lines, report.added, report.existing))
