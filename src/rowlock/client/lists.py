"""Ways of lists as wholes: each is a verb of `rowlock.lists` and its neighbours, asked of a server."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from rowlock import lists
from rowlock.client.link import Link
from rowlock.errors import NoSuchList, StaleVersion
from rowlock.model import GateInfo, ListInfo, Settings, Then
from rowlock.names import check_limit, check_name, check_start
from rowlock.ranges import Range, check_parts


class ListPage(msgspec.Struct, frozen=True):
    """A page of lists."""

    lists: list[ListInfo]


class Changed(msgspec.Struct, frozen=True):
    """Whether something changed anything."""

    changed: bool


class Dropped(msgspec.Struct, frozen=True):
    """How many items a list had."""

    dropped: int


class Ranges(msgspec.Struct, frozen=True):
    """Key ranges of equal size."""

    ranges: list[Range]


class Gates(msgspec.Struct, frozen=True):
    """The gates of a list."""

    gates: list[GateInfo]


def page(link: Link, *, after: str = "", limit: int = 1000, prefixes: Sequence[str] = ()) -> list[ListInfo]:  # noqa: ARG001
    """Lists in the order of their names; a token's prefixes are the server's to heed."""
    check_limit(limit, "lists")
    check_start(after)
    return link.ask("GET", "lists", gives=ListPage, query={"count": limit, "after": after or None}).lists


def show(link: Link, name: str) -> ListInfo:
    """The list with its counts and progress."""
    return link.ask("GET", "lists", name, gives=ListInfo)


def find(link: Link, name: str) -> lists.ListRow | None:
    """The list's row without its number, which is the database's own; None if there is none."""
    try:
        info = show(link, name)
    except NoSuchList:
        return None
    return _row(info)


def _row(info: ListInfo) -> lists.ListRow:
    return lists.ListRow(0, info.name, info.state, info.gate, info.sealed, info.version, info.settings)


def settings_of(link: Link, names: Sequence[str]) -> dict[str, Settings]:
    """The settings of lists that are there, by name."""
    found = {name: find(link, name) for name in names}
    return {name: row.settings for name, row in found.items() if row is not None}


def unfinished(link: Link, *, fits: Callable[[lists.ListRow], bool]) -> int:
    """How many items of fitting lists are ready, delayed, in anybody's hands or behind a gate that will open."""
    pairs = ((_row(info), info.counts) for info in _all(link))
    return sum(lists.count_unfinished(row, counts) for row, counts in pairs if row.state == "open" and fits(row))


def with_work(link: Link, *, fits: Callable[[lists.ListRow], bool], holder: str) -> list[str]:
    """The names of fitting lists that have something for the holder's workers to do now."""
    free = ((_row(info), info.counts) for info in _all(link) if info.holder in (None, holder))
    return [row.name for row, counts in free if lists.may_have_work(row) and fits(row) and lists.has_work(row, counts)]


def _all(link: Link) -> Iterator[ListInfo]:
    after = ""
    while infos := page(link, after=after):
        yield from infos
        after = infos[-1].name


def awaited_by_name(link: Link, name: str) -> bool:
    """Whether something waits for the list's gate to be done with."""
    try:
        info = show(link, name)
    except NoSuchList:
        return False
    return info.state == "open" and (info.sealed or (not info.settings.manual and info.counts.gated > 0))


def gate_number(link: Link, name: str, gate: int | str) -> int:
    """The number of one of the list's gates that may be given by its name."""
    row = find(link, name)
    return (row.settings if row else Settings()).gate_number(gate)


def change_settings(link: Link, name: str, changes: dict[str, Any], *, version: int | None = None) -> Settings:
    """Set what is given, leave the rest; a list that is not there is made."""
    while True:
        try:
            return link.ask("PATCH", "lists", name, gives=ListInfo, body=changes, version=version).settings
        except NoSuchList:
            if version is not None:
                raise
        try:
            settings, absent = Settings().changed(**changes), {"if-none-match": "*"}
            return link.ask("PUT", "lists", name, gives=ListInfo, body=settings, headers=absent).settings
        except StaleVersion:  # somebody has just made it: then theirs is changed
            continue


def pause(link: Link, name: str, *, version: int | None = None) -> bool:
    """Stop handing out the list's items."""
    return _changed(link, name, "pause", version=version)


def resume(link: Link, name: str, *, version: int | None = None) -> bool:
    """Hand out the list's items again."""
    return _changed(link, name, "resume", version=version)


def _changed(link: Link, name: str, verb: str, **options: Any) -> bool:
    return link.ask("POST", "lists", name, verb, gives=Changed, **options).changed


def rename(link: Link, name: str, to: str, *, version: int | None = None) -> None:
    """Give the list another name."""
    check_name(to)
    link.ask("POST", "lists", name, "rename", gives=ListInfo, body={"name": to}, version=version, keyed=True)


def drop(link: Link, name: str, *, version: int | None = None) -> int:
    """Forget the list with all its items and history."""
    return link.ask("DELETE", "lists", name, gives=Dropped, version=version).dropped


def split(link: Link, name: str, parts: int) -> list[Range]:
    """The list's keys in ranges of equal size."""
    check_parts(parts)
    return link.ask("GET", "lists", name, "ranges", gives=Ranges, query={"parts": parts}).ranges


def gates(link: Link, name: str) -> list[GateInfo]:
    """Gate by gate: whether it is open, what stands there."""
    return link.ask("GET", "lists", name, "gates", gives=Gates).gates


def open_gate(link: Link, name: str, gate: int | str) -> bool:
    """Go on to a gate by hand."""
    return link.ask("PUT", "lists", name, "gate", gives=Changed, body={"gate": gate}).changed


def seal(link: Link, name: str, *, then: Then | None = None) -> bool:
    """Take no more items and be complete when none is left."""
    return _changed(link, name, "seal", body={"then": then})


def complete(link: Link, name: str) -> bool:
    """End the list by hand."""
    return _changed(link, name, "complete")


def reopen(link: Link, name: str) -> bool:
    """Take items and hand them out again."""
    return _changed(link, name, "reopen")
