"""Routes of lists as wholes."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock import failures, lists, ranges
from rowlock.db import Transaction
from rowlock.failures import FailureGroup
from rowlock.http.auth import check_settings, keep_hidden_settings, redact_list
from rowlock.http.call import Answer, Call, Header
from rowlock.http.kinds import Kind
from rowlock.http.once import once
from rowlock.http.pages import Page, link
from rowlock.http.texts import form, row, text
from rowlock.http.versions import Condition, condition
from rowlock.model import ListInfo, Settings
from rowlock.ranges import Range

PAGE = 1_000
STREAM = 256
"""In a piece of a stream: one of them waits for each client that does not read."""

After = Annotated[str, Meta(description="Strictly after this name, in byte order.")]


class PageQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which lists."""

    count: Annotated[int, Meta(description="At most so many; text and NDJSON give all without it.")] | None = None
    after: After = ""


class ListPage(Page, frozen=True):
    """A page of lists."""

    lists: list[ListInfo]
    next: str | None
    """What to give as `after` for the next page; none if this is the last."""


class Dropped(msgspec.Struct, frozen=True):
    """What was forgotten."""

    dropped: int


class NewName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a list shall be called."""

    name: str


class FailurePage(Page, frozen=True):
    """How the items of a list fail."""

    failures: list[FailureGroup]


class Changed(msgspec.Struct, frozen=True):
    """Whether that changed anything."""

    changed: bool


class RangesQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Into how many parts."""

    parts: Annotated[int, Meta(description="How many ranges; fewer if there are fewer keys.")]


class GroupQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many groups."""

    count: Annotated[int, Meta(description="At most so many, the most frequent first.")] = 50


class SayingQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which failed items."""

    error: Annotated[str, Meta(description="What their last error says, or a part of it.")]
    after: Annotated[str, Meta(description="Strictly after this key, in byte order.")] = ""
    count: Annotated[int, Meta(description="At most so many.")] = PAGE


class KeyPage(Page, frozen=True):
    """Keys of items, in byte order."""

    keys: list[str]


class Ranges(Page, frozen=True):
    """Key ranges of equal size."""

    ranges: list[Range]


async def page(call: Call) -> Answer:
    """The lists in the order of their names, each with its counts and settings."""
    query: PageQuery = call.query
    if query.count is None and call.kind is not Kind.JSON:
        return Answer(stream=_all(call, query.after))
    count = PAGE if query.count is None else query.count
    found = await call.service.executor.read(lists.page, after=query.after, limit=count, prefixes=call.principal.lists)
    after = found[-1].name if found and len(found) == count else None
    return Answer(
        ListPage([redact_list(info, call.principal) for info in found], after), headers=link(call, after, count=count)
    )


async def _all(call: Call, after: str) -> AsyncIterator[Any]:
    while found := await call.service.executor.read(
        lists.page, after=after, limit=STREAM, prefixes=call.principal.lists
    ):
        yield ListPage([redact_list(info, call.principal) for info in found], None)
        after = found[-1].name


async def show(call: Call) -> Answer:
    """One list: its state, settings, counts and progress."""
    info = await call.service.executor.read(lists.show, call.path["list"])
    return Answer(redact_list(info, call.principal), version=info.version)


async def put(call: Call) -> Answer:
    """Make a list with these settings, or give them to the one that is there; what is left out is at its default."""
    settings: Settings = await call.document()
    changes = {field: getattr(settings, field) for field in Settings.__struct_fields__}
    made, info = await _changed(call, changes, condition(call))
    return Answer(info, 201 if made else 200, version=info.version)


async def patch(call: Call) -> Answer:
    """Change some settings of a list and leave the rest."""
    changes: dict[str, Any] = await call.document()
    _, info = await _changed(call, changes, condition(call), make=False)
    return Answer(info, version=info.version)


async def _changed(
    call: Call, changes: dict[str, Any], holds: Condition, *, make: bool = True
) -> tuple[bool, ListInfo]:
    check_settings(changes, call.principal)
    name, scope = call.path["list"], call.principal.lists
    made, info = await call.service.executor.write(_change, name, changes, holds, scope=scope, make=make)
    return made, redact_list(info, call.principal)


def _change(
    tx: Transaction, name: str, changes: dict[str, Any], holds: Condition, *, scope: Sequence[str], make: bool
) -> tuple[bool, ListInfo]:
    with tx.savepoint():
        # Of many who would make it the database lets one: others find it there, and what must hold must hold for it.
        made = make and not holds.exists and holds.versions is None and lists.create(tx, name)
        there = lists.lock_if_exists(tx, name)
        if there is None and not make:
            raise lists.no_such_list(tx, name)
        holds.check(None if made or there is None else there.version, f"the list {name!r}")
        whole = keep_hidden_settings(changes, there.settings if there else None, lists=scope)
        lists.change_settings(tx, name, whole, version=there.version if there and holds.versions else None)
        return made, lists.show(tx, name)


async def drop(call: Call) -> Dropped:
    """Forget a list with all its items and history."""
    return Dropped(await call.service.executor.write(_drop, call.path["list"], condition(call)))


def _drop(tx: Transaction, name: str, holds: Condition) -> int:
    holds.check(lists.lock(tx, name).version, f"the list {name!r}")
    return lists.drop(tx, name)


async def pause(call: Call) -> Changed:
    """Stop handing out a list's items; what is claimed may still be settled."""
    return Changed(await call.service.executor.write(_pause, call.path["list"], condition(call)))


def _pause(tx: Transaction, name: str, holds: Condition) -> bool:
    return lists.pause(tx, name, version=_version(tx, name, holds))


async def resume(call: Call) -> Changed:
    """Hand out a list's items again."""
    return Changed(await call.service.executor.write(_resume, call.path["list"], condition(call)))


def _resume(tx: Transaction, name: str, holds: Condition) -> bool:
    return lists.resume(tx, name, version=_version(tx, name, holds))


def _version(tx: Transaction, name: str, holds: Condition) -> int | None:
    """The version that the list is at, if it must be one of some."""
    if holds == Condition():
        return None
    version = lists.lock(tx, name).version
    holds.check(version, f"the list {name!r}")
    return version


async def rename(call: Call) -> Answer:
    """Give a list another name; its items, counts and history stay with it."""
    given: NewName = await call.document()
    call.principal.check(given.name)
    name, holds = call.path["list"], condition(call)
    work = partial(_rename, name=name, to=given.name, holds=holds)
    headers: list[Header] = []
    if call.header(b"idempotency-key"):
        _, headers = await once(call, work, asked=[name, given.name])
    else:
        await call.service.executor.write(_rename, name=name, to=given.name, holds=holds)
    return Answer(
        redact_list(await call.service.executor.read(lists.show, given.name), call.principal), headers=headers
    )


def _rename(tx: Transaction, *, name: str, to: str, holds: Condition) -> bool:
    lists.rename(tx, name, to, version=_version(tx, name, holds))
    return True


async def groups(call: Call) -> FailurePage:
    """The failed items of a list by the shape of their last error, the most frequent first."""
    return FailurePage(await call.service.executor.read(failures.groups, call.path["list"], limit=call.query.count))


async def saying(call: Call) -> KeyPage:
    """The keys of failed items whose last error says something."""
    asked: SayingQuery = call.query
    read, name = call.service.executor.read, call.path["list"]
    return KeyPage(await read(failures.keys_matching_error, name, asked.error, after=asked.after, limit=asked.count))


async def split(call: Call) -> Ranges:
    """The keys of a list in ranges of equal size, for whoever hands them out by hand."""
    query: RangesQuery = call.query
    return Ranges(await call.service.executor.read(ranges.split, call.path["list"], query.parts))


@form(ListInfo)
def _lines(info: ListInfo) -> str:
    facts = {"name": info.name, "state": info.state, "gate": info.gate, "sealed": info.sealed, "version": info.version}
    happened = {name: getattr(info.progress, name) for name in ("added", "done", "retried", "moved", "abandoned")}
    return text({**facts, **msgspec.structs.asdict(info.counts), **happened})


@form(ListPage)
def _rows(page: ListPage) -> str:
    return "".join(row(_columns(info)) for info in page.lists)


def _columns(info: ListInfo) -> tuple[Any, ...]:
    counts, done = info.counts, info.progress.done
    known = done + counts.total
    waiting = (counts.ready, counts.delayed, counts.gated, counts.claimed, counts.failed)
    return info.name, info.state, info.gate, *waiting, done, f"{done / known if known else 0:.0%}"


@form(Ranges)
def _parts(found: Ranges) -> str:
    return "".join(row((part.after, part.upto, part.count)) for part in found.ranges)


@form(KeyPage)
def _keys(found: KeyPage) -> str:
    return "".join(f"{key}\n" for key in found.keys)


@form(FailurePage)
def _shapes(found: FailurePage) -> str:
    return "".join(row((group.count, group.kind, group.shape, group.example)) for group in found.failures)
