"""Ways of items: each is a verb of `rowlock.items` and its neighbours, asked of a server."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rowlock import items
from rowlock.client.link import Link
from rowlock.errors import InvalidData
from rowlock.failures import Change, FailureGroup, count_given, truncate_message
from rowlock.item_input import CheckedChanges
from rowlock.model import Failure, Item, to_datetime
from rowlock.names import check_key, check_keys, check_limit, check_start
from rowlock.nesting import MAX_LEVELS, is_too_deep
from rowlock.results import Result

KEYS_PER_REQUEST = 10_000
"""More are sent in several requests, each of them a transaction: a server bounds the size of a body."""


class ItemPage(msgspec.Struct, frozen=True):
    """A page of items."""

    items: list[Item]
    next: str | None = None


class FailurePage(msgspec.Struct, frozen=True):
    """How an item has failed."""

    failures: list[Failure]


class GroupPage(msgspec.Struct, frozen=True):
    """Failed items by the shape of their last error."""

    failures: list[FailureGroup]


class KeyPage(msgspec.Struct, frozen=True):
    """Keys of items."""

    keys: list[str]


class ResultPage(msgspec.Struct, frozen=True):
    """What an item left behind."""

    results: list[Result]


def stored(data: msgspec.Raw) -> str | None:
    """Data as it is stored: JSON, or nothing."""
    raw = bytes(data)
    return None if raw == b"null" else raw.decode()


def _not_too_deep(item: Item) -> Item:
    """Refuse an item whose data is nested deeper than is allowed: what arrived of it may have been truncated."""
    text = item.raw_data
    if text is not None and is_too_deep(text):
        what = f"the data of {item.key!r} of the list {item.list!r} is nested deeper than {MAX_LEVELS} levels"
        raise InvalidData(what, "it was stored when that was allowed: save other data, or abandon the item")
    return item


def page(link: Link, name: str, *, after: str = "", limit: int = 1000, state: str | None = None) -> list[Item]:
    """Items in the byte order of their keys."""
    check_limit(limit, "items")
    check_start(after)
    found: list[Item] = []
    # A page with much data comes in parts.
    following: str | None = after
    while following is not None:
        query = {"count": limit - len(found), "after": following or None, "state": state}
        part = link.ask("GET", "lists", name, "items", gives=ItemPage, query=query, cut=True)
        found += [_not_too_deep(item) for item in part.items]
        following = part.next if len(found) < limit else None
    return found


def show(link: Link, name: str, key: str) -> Item:
    """One item as it stands."""
    check_key(key)
    return _not_too_deep(link.ask("GET", "lists", name, "items", key, gives=Item, cut=True))


def save(link: Link, name: str, key: str, *, changes: CheckedChanges, version: int | None = None) -> Item:
    """Change what is given of an item."""
    given: dict[str, Any] = {}
    if changes.data is not msgspec.UNSET:
        given["data"] = None if changes.data is None else msgspec.Raw(changes.data.encode())
    if changes.due is not msgspec.UNSET:
        given["due"] = None if changes.due is None else when(*changes.due)
    if changes.priority is not msgspec.UNSET:
        given["priority"] = changes.priority
    return link.ask("PATCH", "lists", name, "items", key, gives=Item, body=given, version=version, cut=True)


def when(delay: int, at: int | None) -> str | None:
    """A delay or a moment in milliseconds, as bodies have it; None is at once."""
    if at is not None:
        return to_datetime(at).isoformat()
    return f"{delay}ms" if delay else None


def increment(link: Link, name: str, keys: Sequence[str], *, error: str | None = None) -> int:
    """Note one failed attempt for each key that is there."""
    said = {} if error is None else {"error": truncate_message(error)}
    return _changed(link, name, keys, "increment", said=said, keyed=True)


def done(link: Link, name: str, keys: Sequence[str]) -> int:
    """Take off the list what has been done."""
    return _changed(link, name, keys, "delete")


def abandon(link: Link, name: str, keys: Sequence[str]) -> int:
    """Give up on items."""
    return _changed(link, name, keys, "abandon")


def retry(link: Link, name: str, keys: Sequence[str]) -> int:
    """Make failed and delayed items ready at once."""
    return _changed(link, name, keys, "retry")


def there(link: Link, name: str, keys: Sequence[str]) -> int:
    """Of these keys how many are there."""
    return _changed(link, name, keys, "delete", dry_run=True)


def waiting(link: Link, name: str, keys: Sequence[str]) -> int:
    """Of these keys how many a retry would change."""
    return _changed(link, name, keys, "retry", dry_run=True)


def change_some(
    link: Link,
    name: str,
    *,
    change: Change,
    after: str = "",  # noqa: ARG001
    error: str | None = None,
    limit: int = 1000,  # noqa: ARG001
) -> tuple[int, str | None]:
    """Do something to failed items: all of them, for the server goes on by itself to the end."""
    verb = "retry" if change is items.retry else "abandon"
    query = {"state": "failed", "error": error, "dry_run": True if change is count_given else None}
    answer = link.ask("POST", "lists", name, "items", verb, gives=dict[str, int | bool], query=query)
    count, *_ = answer.values()
    return int(count), None


def _changed(
    link: Link,
    name: str,
    keys: Sequence[str],
    verb: str,
    *,
    said: Mapping[str, Any] = {},
    keyed: bool = False,
    dry_run: bool = False,
) -> int:
    check_keys(keys)
    query, gives = {"dry_run": dry_run or None}, dict[str, int | bool]
    changed = 0
    for first in range(0, len(keys), KEYS_PER_REQUEST):
        body = {"keys": keys[first : first + KEYS_PER_REQUEST], **said}
        answer = link.ask("POST", "lists", name, "items", verb, gives=gives, body=body, keyed=keyed, query=query)
        count, *_ = answer.values()
        changed += int(count)
    return changed


def failures(link: Link, name: str, key: str, *, limit: int = 20) -> list[Failure]:
    """How an item has failed, the newest first."""
    check_key(key)
    check_limit(limit, "failures")
    query = {"count": limit}
    return link.ask("GET", "lists", name, "items", key, "failures", gives=FailurePage, query=query).failures


def results(link: Link, name: str, key: str, *, limit: int = 20) -> list[Result]:
    """What an item left behind when it was done."""
    check_key(key)
    query = {"count": limit}
    return link.ask("GET", "lists", name, "items", key, "results", gives=ResultPage, query=query).results


def groups(link: Link, name: str, *, limit: int = 50) -> list[FailureGroup]:
    """Failed items by the shape of their last error."""
    return link.ask("GET", "lists", name, "failures", gives=GroupPage, query={"count": limit}).failures


def keys_matching_error(link: Link, name: str, text: str, *, after: str = "", limit: int = 1000) -> list[str]:
    """The keys of failed items whose last error contains the text."""
    check_start(after)
    query = {"error": text, "after": after or None, "count": limit}
    return link.ask("GET", "lists", name, "failures", "keys", gives=KeyPage, query=query).keys
