"""Routes that are compatible with the IIDY service: its paths, documents and errors, without its bugs.

The media type of a response is that of the request's Content-Type, also of a GET; Accept is ignored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import IO, Any

import msgspec

from rowlock import item_input, items
from rowlock.errors import Invalid, InvalidBody, NoSuchList, NotFound, RowlockError
from rowlock.http.media_types import MediaType
from rowlock.http.requests import Request, decode_json
from rowlock.http.responses import Response
from rowlock.http.routing import Endpoint, Route
from rowlock.item_input import Batch, ItemDefaults, check_all
from rowlock.model import Item
from rowlock.names import MAX_PAGE_ROWS
from rowlock.roles import Role

ACTIONS = ("", "increment")
STRICT = {"1": True, "true": True, "0": False, "false": False}
LAST_ITEM = b"x-iidy-last-item"


class IidyNames(msgspec.Struct, frozen=True):
    """Names of items; other fields are ignored."""

    items: list[str] | None = None


class IidyCount(msgspec.Struct, frozen=True):
    """How many names an action changed."""

    def text(self) -> str:
        """Return the action and the count in one line."""
        [(action, count)] = msgspec.structs.asdict(self).items()
        return f"{action.upper()} {count}\n"


class IidyAdded(IidyCount, frozen=True):
    """How many names are new."""

    added: int


class IidyIncremented(IidyCount, frozen=True):
    """How many names have one more attempt."""

    incremented: int


class IidyDeleted(IidyCount, frozen=True):
    """How many names were taken off."""

    deleted: int


class IidyEntry(msgspec.Struct, frozen=True):
    """A name and its attempts."""

    item: str
    attempts: int

    def text(self) -> str:
        """The attempts alone."""
        return f"{self.attempts}\n"


class IidyEntries(msgspec.Struct, frozen=True):
    """Names in byte order, each with its attempts."""

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


async def post_one(request: Request) -> Response | IidyIncremented:
    """Add a name, or with `action=increment` count one more attempt of it; the body is not read."""
    if _action(request) == "increment":
        return await increment_one(request)
    batches = list(item_input.batches(request.path_params["key"], ItemDefaults(traceparent=request.traceparent)))
    added = await _add(request, batches, strict=_strict(request))
    return Response(IidyAdded(added), 201 if added else 200)


async def show(request: Request) -> IidyEntry:
    """The attempts of a name."""
    found = await request.executor.read(items.show, request.path_params["list"], request.path_params["key"])
    return IidyEntry(found.key, found.attempts)


async def delete_one(request: Request) -> IidyDeleted:
    """Take a name off its list."""
    return IidyDeleted(
        await request.executor.write(items.done, request.path_params["list"], [request.path_params["key"]])
    )


async def increment_one(request: Request) -> IidyIncremented:
    """Count one more attempt of a name."""
    return IidyIncremented(
        await request.executor.write(items.increment, request.path_params["list"], [request.path_params["key"]])
    )


async def post_many(request: Request) -> Response | IidyIncremented:
    """Add names, or with `action=increment` count one more attempt of each."""
    if _action(request) == "increment":
        return await increment_many(request)
    strict = _strict(request)
    batches = await _batches(request, ItemDefaults(traceparent=request.traceparent))
    return Response(IidyAdded(await _add(request, batches, strict=strict) if batches else 0), 201)


async def _batches(request: Request, shared: ItemDefaults) -> Iterable[Batch]:
    """The names in the body, to be added as one; none if there are none. Many lines lie on disk meanwhile."""
    if request.response_type is MediaType.JSON:
        return list(item_input.batches(await _parsed(request), shared))
    with await request.body_file() as file:
        named = item_input.batches(_trimmed(file), shared)
        return list(named) if request.has_small_body else await request.executor.run_in_thread(lambda: check_all(named))


async def _add(request: Request, batches: Iterable[Batch], *, strict: bool) -> int:
    return (await request.executor.write(items.add, request.path_params["list"], batches, strict=strict)).added


async def increment_many(request: Request) -> IidyIncremented:
    """Count one more attempt of each name."""
    return IidyIncremented(
        await request.executor.write(items.increment, request.path_params["list"], await _names(request))
    )


async def delete_many(request: Request) -> IidyDeleted:
    """Take names off their list."""
    return IidyDeleted(await request.executor.write(items.done, request.path_params["list"], await _names(request)))


async def page(request: Request) -> Response:
    """Names in byte order, strictly after one, each with its attempts."""
    limit, after = _count(request), request.query.get("after_id", "")
    found = await _page(request, after=after, limit=limit)
    last = found[-1].key if found else ""
    # What a header cannot carry stands in the body all the same.
    headers = [(LAST_ITEM, last.encode())] if last and not _unsafe(last) else []
    return Response(IidyEntries([IidyEntry(item.key, item.attempts) for item in found]), headers=headers)


async def _page(request: Request, *, after: str, limit: int) -> list[Item]:
    """Return a page of names; none if there is no such list, which is no error here."""
    try:
        return await request.executor.read(items.page, request.path_params["list"], after=after, limit=limit)
    except NoSuchList:
        return []


async def exists(request: Request) -> Response:
    """Whether a list has any names."""
    found = await _page(request, after="", limit=1)
    if not found:
        raise NotFound("Not found.")
    return Response(b"")


def _action(request: Request) -> str:
    action: str = request.query.get("action", "")
    if action not in ACTIONS:
        raise Invalid(f"Unknown action: {action[:50]}")
    return action


def _strict(request: Request) -> bool:
    given: str = request.query.get("strict", "0")
    if given not in STRICT:
        raise Invalid(f"For query arg strict, {given[:50]} is not one of {', '.join(STRICT)}")
    return STRICT[given]


def _count(request: Request) -> int:
    given = request.query.get("count", "")
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


async def _names(request: Request) -> list[str]:
    """The names in the body, each once."""
    return list(dict.fromkeys(await _parsed(request)))


async def _parsed(request: Request) -> Sequence[str]:
    body = await request.body(request.service.limits.document_bytes)
    if request.response_type is not MediaType.JSON:
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
    found: IidyNames = decode_json(body, IidyNames)
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


def _route(method: str, path: str, endpoint: Endpoint, gives: Mapping[int, Any], **options: Any) -> Route:
    role = Role.VIEWER if method in ("GET", "HEAD") else Role.WORKER
    name = f"iidy.{endpoint.__name__}"
    return Route(None, method, path, role, gives, endpoint=endpoint, iidy=True, name=name, **options)


ROOT = "/iidy/v1"
ONE, MANY = f"{ROOT}/lists/{{list}}/{{key}}", f"{ROOT}/batch/lists/{{list}}"
INCREMENT_ONE, INCREMENT_MANY = ONE.replace(ROOT, f"{ROOT}/increment"), MANY.replace(ROOT, f"{ROOT}/increment")
NAMES: dict[str, Any] = {"body": IidyNames, "line": str}
ROUTES = (
    _route("POST", ONE, post_one, {200: IidyAdded, 201: IidyAdded}, query=IidyAction),
    _route("GET", ONE, show, {200: IidyEntry}),
    _route("DELETE", ONE, delete_one, {200: IidyDeleted}),
    _route("POST", INCREMENT_ONE, increment_one, {200: IidyIncremented}),
    _route("POST", MANY, post_many, {200: IidyIncremented, 201: IidyAdded}, query=IidyAction, **NAMES),
    _route("GET", MANY, page, {200: IidyEntries}, query=IidyPageQuery),
    _route("DELETE", MANY, delete_many, {200: IidyDeleted}, **NAMES),
    _route("POST", INCREMENT_MANY, increment_many, {200: IidyIncremented}, **NAMES),
    _route("HEAD", f"{ROOT}/lists/{{list}}", exists, {200: None}),
)
