"""The routes of IIDY: lists of names with attempts, its words and its ways; what it got wrong is right here.

The answer follows the Content-Type of the request, also of a GET; Accept is not looked at.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import IO, Any

import msgspec

from rowlock import item_input, items
from rowlock.errors import Invalid, InvalidBody, NoSuchPath, NotFound, RowlockError, WrongMethod
from rowlock.http.bodies import decoded
from rowlock.http.call import Answer, Call
from rowlock.http.media_types import MediaType
from rowlock.http.route import Handler, Route
from rowlock.item_input import Batch, ItemDefaults, check_all
from rowlock.names import MAX_PAGE_ROWS
from rowlock.roles import Role

ACTIONS = ("", "increment")
STRICT = {"1": True, "true": True, "0": False, "false": False}
LAST_ITEM = b"x-iidy-last-item"


class IidyNames(msgspec.Struct, frozen=True):
    """IidyNames of items; whatever else is said is ignored."""

    items: list[str] | None = None


class IidyAdded(msgspec.Struct, frozen=True):
    """How many names are new."""

    added: int

    def text(self) -> str:
        """One line."""
        return f"ADDED {self.added}\n"


class IidyIncremented(msgspec.Struct, frozen=True):
    """How many names have one more attempt."""

    incremented: int

    def text(self) -> str:
        """One line."""
        return f"INCREMENTED {self.incremented}\n"


class IidyDeleted(msgspec.Struct, frozen=True):
    """How many names were taken off."""

    deleted: int

    def text(self) -> str:
        """One line."""
        return f"DELETED {self.deleted}\n"


class IidyEntry(msgspec.Struct, frozen=True):
    """A name and its attempts."""

    item: str
    attempts: int

    def text(self) -> str:
        """The attempts alone."""
        return f"{self.attempts}\n"


class IidyEntries(msgspec.Struct, frozen=True):
    """IidyNames in byte order, each with its attempts."""

    listentries: list[IidyEntry]

    def text(self) -> str:
        """A line for each name."""
        return "".join(f"{entry.item} {entry.attempts}\n" for entry in self.listentries)


class IidyAction(msgspec.Struct, frozen=True):
    """What to do with the names."""

    action: str = ""
    """`increment` for one more attempt; left out, they are added."""
    strict: bool = False
    """Refuse all names if one of them is on the list already."""


class IidyPageQuery(msgspec.Struct, frozen=True):
    """Which names."""

    count: int
    after_id: str = ""


async def post_one(call: Call) -> Answer | IidyIncremented:
    """Add a name, or with `action=increment` count one more attempt of it; the body is not read."""
    if _action(call) == "increment":
        return await increment_one(call)
    batches = list(item_input.batches(call.path["key"], ItemDefaults(trace=call.traceparent)))
    added = await _add(call, batches, strict=_strict(call))
    return Answer(IidyAdded(added), 201 if added else 200)


async def show(call: Call) -> IidyEntry:
    """The attempts of a name."""
    found = await call.service.executor.read(items.show, call.path["list"], call.path["key"])
    return IidyEntry(found.key, found.attempts)


async def delete_one(call: Call) -> IidyDeleted:
    """Take a name off its list."""
    return IidyDeleted(await call.service.executor.write(items.done, call.path["list"], [call.path["key"]]))


async def increment_one(call: Call) -> IidyIncremented:
    """Count one more attempt of a name."""
    return IidyIncremented(await call.service.executor.write(items.increment, call.path["list"], [call.path["key"]]))


async def post_many(call: Call) -> Answer | IidyIncremented:
    """Add names, or with `action=increment` count one more attempt of each."""
    if _action(call) == "increment":
        return await increment_many(call)
    strict = _strict(call)
    batches = await _batches(call, ItemDefaults(trace=call.traceparent))
    return Answer(IidyAdded(await _add(call, batches, strict=strict) if batches else 0), 201)


async def _batches(call: Call, shared: ItemDefaults) -> Iterable[Batch]:
    """The names in the body, to be added as one; none if there are none. Many lines lie on disk meanwhile."""
    if call.media_type is MediaType.JSON:
        return list(item_input.batches(await _parsed(call), shared))
    with await call.body.file() as file:
        named = item_input.batches(_trimmed(file), shared)
        return list(named) if call.body.small else await call.service.executor.run_in_thread(lambda: check_all(named))


async def _add(call: Call, batches: Iterable[Batch], *, strict: bool) -> int:
    landed = await call.service.executor.write(items.add, call.path["list"], batches, strict=strict)
    return landed.added


async def increment_many(call: Call) -> IidyIncremented:
    """Count one more attempt of each name."""
    return IidyIncremented(await call.service.executor.write(items.increment, call.path["list"], await _names(call)))


async def delete_many(call: Call) -> IidyDeleted:
    """Take names off their list."""
    return IidyDeleted(await call.service.executor.write(items.done, call.path["list"], await _names(call)))


async def page(call: Call) -> Answer:
    """IidyNames in byte order, strictly after one, each with its attempts."""
    limit, after = _count(call), call.query.get("after_id", "")
    found = await call.service.executor.read(items.page, call.path["list"], after=after, limit=limit)
    last = found[-1].key if found else ""
    # What a header cannot carry stands in the body all the same.
    headers = [(LAST_ITEM, last.encode())] if last and not _unsafe(last) else []
    return Answer(IidyEntries([IidyEntry(item.key, item.attempts) for item in found]), headers=headers)


async def exists(call: Call) -> Answer:
    """Whether a list has any names."""
    found = await call.service.executor.read(items.page, call.path["list"], limit=1)
    if not found:
        raise NotFound("Not found.")
    return Answer(b"")


def _action(call: Call) -> str:
    action: str = call.query.get("action", "")
    if action not in ACTIONS:
        raise Invalid(f"Unknown action: {action[:50]}")
    return action


def _strict(call: Call) -> bool:
    given: str = call.query.get("strict", "0")
    if given not in STRICT:
        raise Invalid(f"For query arg strict, {given[:50]} is not one of {', '.join(STRICT)}")
    return STRICT[given]


def _count(call: Call) -> int:
    given = call.query.get("count", "")
    if not given:
        raise Invalid("Query arg not found: count")
    try:
        count = int(given)
    except ValueError:
        raise Invalid(f"For query arg count, {given[:50]} is not a number") from None
    if not 0 <= count <= MAX_PAGE_ROWS:
        raise Invalid(f"For query arg count, {given[:50]} is not between 0 and {MAX_PAGE_ROWS}")
    return count


def _unsafe(key: str) -> bool:
    return any(ord(character) < 32 or ord(character) == 127 for character in key)


async def _names(call: Call) -> list[str]:
    """The names in the body, each once."""
    return list(dict.fromkeys(await _parsed(call)))


async def _parsed(call: Call) -> Sequence[str]:
    body = await call.body.whole(call.service.limits.document_bytes)
    if call.media_type is not MediaType.JSON:
        return list(_trimmed(BytesIO(body)))
    try:
        return _json(body)
    except RowlockError as error:
        raise _unparsable(error.what) from None


def _unparsable(what: str) -> InvalidBody:
    return InvalidBody(f"Error trying to parse list of items from request body: {what}")


def _json(body: bytes) -> Sequence[str]:
    if not body.strip():
        return ()
    found: IidyNames = decoded(body, IidyNames)
    return found.items or ()


def _trimmed(file: IO[bytes]) -> Iterator[str]:
    """Lines that are not blank; the whole is trimmed at both ends."""
    last = None
    for line in file:
        try:
            text = line.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise _unparsable("it is not UTF-8 text") from None
        if not text.strip():
            continue
        if last is not None:
            yield last
        last = text.lstrip() if last is None else text
    if last is not None:
        yield last.rstrip()


def message(error: RowlockError) -> str:
    """What IIDY says when something is wrong."""
    match error:
        case WrongMethod():
            return "Method Not Allowed"
        case NoSuchPath():
            return "404 page not found"
        case NotFound():
            return "Not found."
        case _:
            return error.what


def problem(error: RowlockError, kind: MediaType) -> Any:
    """An error as IIDY tells it."""
    return {"error": message(error)} if kind is MediaType.JSON else f"{message(error)}\n"


def _route(method: str, path: str, function: Handler, role: Role, gives: Mapping[int, Any], **options: Any) -> Route:
    summary = (inspect.getdoc(function) or "").partition("\n")[0]
    name = f"iidy.{function.__name__}"
    return Route(None, method, path, role, gives, function=function, iidy=True, name=name, summary=summary, **options)


VIEWER, WORKER = Role.VIEWER, Role.WORKER
ROOT = "/iidy/v1"
ONE, MANY = f"{ROOT}/lists/{{list}}/{{key}}", f"{ROOT}/batch/lists/{{list}}"
INCREMENT_ONE, INCREMENT_MANY = ONE.replace(ROOT, f"{ROOT}/increment"), MANY.replace(ROOT, f"{ROOT}/increment")
NAMES: dict[str, Any] = {"body": IidyNames, "line": str}
ROUTES = (
    _route(
        "POST",
        ONE,
        post_one,
        WORKER,
        {200: IidyAdded, 201: IidyAdded},
        query=IidyAction,
    ),
    _route("GET", ONE, show, VIEWER, {200: IidyEntry}),
    _route("DELETE", ONE, delete_one, WORKER, {200: IidyDeleted}),
    _route(
        "POST",
        INCREMENT_ONE,
        increment_one,
        WORKER,
        {200: IidyIncremented},
    ),
    _route(
        "POST",
        MANY,
        post_many,
        WORKER,
        {200: IidyIncremented, 201: IidyAdded},
        query=IidyAction,
        **NAMES,
    ),
    _route("GET", MANY, page, VIEWER, {200: IidyEntries}, query=IidyPageQuery),
    _route("DELETE", MANY, delete_many, WORKER, {200: IidyDeleted}, **NAMES),
    _route(
        "POST",
        INCREMENT_MANY,
        increment_many,
        WORKER,
        {200: IidyIncremented},
        **NAMES,
    ),
    _route("HEAD", f"{ROOT}/lists/{{list}}", exists, VIEWER, {200: None}),
)
