"""The endpoint of every operation that is one run of its verb, and those of tokens and topics.

It reads the verb's arguments from the request, heeds If-Match and Idempotency-Key, and responds with a document.
"""

import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from rowlock import idempotency
from rowlock.api.documents import cell
from rowlock.api.items import Retried
from rowlock.api.operation import PREFIXES
from rowlock.api.tokens import CreatedToken, Revoked, TokenOptions
from rowlock.api.topics import Unsubscribed
from rowlock.errors import Invalid, InvalidQuery, NoSuchToken, UnknownKind
from rowlock.group_commit.calls import group_rule
from rowlock.http import media_types
from rowlock.http.asgi import Header
from rowlock.http.media_types import MediaType
from rowlock.http.requests import Request, decode_json
from rowlock.http.responses import Response
from rowlock.json_codec import encode_json
from rowlock.model import ANY_VERSION, Versions
from rowlock.topics import records, subscriptions
from rowlock.topics.records import FailedDelivery

DEFAULT_ROWS, STREAMED_ROWS = 1_000, 256
"""Rows of a page, and of a piece of a stream: one piece waits in memory for each client that does not read."""
MAX_KEY_CHARACTERS = 200
NOT_COMPARED = ("trace", "version", "prefixes")
"""Arguments that may differ when a request is repeated under its Idempotency-Key."""
REPLAYED: Header = (b"idempotency-replayed", b"true")
MAX_NUMBER_DIGITS = 18

_ETAG = re.compile(r'(?:W/)?"?v?(\d{1,18})(?:\.[0-9a-z-]*)?"?')


async def respond(request: Request) -> Response:
    """Run the verb of the operation and respond with what it returns."""
    operation, status = request.route, 200
    is_listing = operation.cursor and operation.streamed and request.query.limit is None
    if is_listing and request.response_type is not MediaType.JSON:
        return Response(stream=_all_pages(request))
    arguments = await _read_arguments(request)
    headers: list[Header] = []
    if operation.keyed and request.header(b"idempotency-key"):
        document, headers = await _run_verb_once(request, arguments)
    else:
        result = await _run_verb(request, arguments)
        if operation.creates:
            is_new, result = result
            status = 201 if is_new else 200
        if operation.cursor:
            limit = arguments.get("limit", DEFAULT_ROWS)
            after = getattr(result[-1], operation.cursor) if result and len(result) == limit else None
            return Response(operation.document(result, after), headers=next_link(request, after))
        document = operation.answer(result, *request.path_params.values())
    version = getattr(document, "version", None) if operation.versioned else None
    return Response(document, status, headers, version=version)


async def _run_verb(request: Request, arguments: dict[str, Any]) -> Any:
    run = request.executor.read if request.route.reads else request.executor.write
    return await run(request.route.verb, *request.path_params.values(), **arguments)


def next_link(request: Request, after: Any) -> list[Header]:
    """Return the Link header of the next page; none if there is no such page."""
    if after is None:
        return []
    fields = msgspec.structs.fields(request.route.query_type)
    query = {field.encode_name: getattr(request.query, field.name) for field in fields}
    query["before" if "before" in query else "after"] = after
    encoded = urlencode({name: cell(value) for name, value in query.items() if value is not None}, quote_via=quote)
    target = f"{request.root_path}{request.raw_path.decode('latin-1')}?{encoded}"
    return [(b"link", f'<{target}>; rel="next"'.encode("latin-1"))]


async def _all_pages(request: Request) -> AsyncIterator[Any]:
    arguments = await _read_arguments(request) | {"limit": STREAMED_ROWS}
    while rows := await _run_verb(request, arguments):
        yield request.route.document(rows, None)
        arguments["after"] = getattr(rows[-1], request.route.cursor)


async def _read_arguments(request: Request) -> dict[str, Any]:
    """Return the named arguments of the operation's verb, from all parts of the request."""
    operation = request.route
    body = None if operation.body is None else await read_body(request)
    read = partial(operation.arguments, request.query, body, *request.path_params.values())
    arguments = await request.executor.run_in_thread(read) if operation.threaded else read()
    if operation.versioned and not operation.reads:
        arguments |= _read_conditions(request)
    if "trace" in operation.takes:
        arguments["trace"] = request.traceparent
    if PREFIXES in operation.takes:
        arguments[PREFIXES] = request.principal.lists
    return arguments


async def read_body(request: Request) -> Any:
    """Return the body as the document that the operation takes; lines become its first field."""
    operation = request.route
    if operation.line is None or request.content_type is MediaType.JSON:
        document = await request.document()
        return [document] if operation.repeated else document
    text = await request.body(request.service.limits.document_bytes)
    if request.content_type is MediaType.NDJSON:
        numbered = enumerate(text.split(b"\n"), 1)
        lines = [decode_json(line, operation.line, line=number) for number, line in numbered if line.strip()]
        return lines if operation.repeated else operation.body(lines)
    if not operation.takes_lines_of_text:
        raise UnknownKind("this takes JSON documents, not lines of text", "send application/x-ndjson")
    media_types.refuse_unlabelled_json(request.header(b"content-type"), text)
    try:
        return operation.body([line.rstrip("\r") for line in text.decode().split("\n") if line.strip()])
    except UnicodeDecodeError:
        raise Invalid("the body is not UTF-8 text", "convert it first, with iconv for example") from None


def _read_conditions(request: Request) -> dict[str, Any]:
    """Return what If-Match and If-None-Match require, as arguments of the verb."""
    conditions: dict[str, Any] = {}
    if if_match := request.header(b"if-match").strip():
        conditions["version"] = _read_versions(if_match)
    if request.header(b"if-none-match").strip() == "*":
        if "absent" not in request.route.takes:
            raise Invalid("If-None-Match is not supported here", "it is for PUT, which makes what does not exist")
        conditions["absent"] = True
    return conditions


def _read_versions(etags: str) -> Versions:
    if etags == "*":
        return ANY_VERSION
    matches = [_ETAG.fullmatch(etag.strip()) for etag in etags.split(",")]
    if not all(matches):
        raise Invalid(f"If-Match must hold ETags, got {etags[:100]!r}", "give the ETag of what you have read")
    return frozenset(int(match[1]) for match in matches if match)


async def _run_verb_once(request: Request, arguments: dict[str, Any]) -> tuple[Any, list[Header]]:
    operation, path = request.route, list(request.path_params.values())
    compared = {name: value for name, value in arguments.items() if name not in NOT_COMPARED}
    verb, document_of = operation.verb, operation.answer
    work = partial(idempotency.answered, verb=verb, answer=document_of, path=path, arguments=arguments)
    isolated = group_rule(verb).key(*path, **arguments).isolated
    stored, headers = await run_once(request, work, compared=[path, compared], isolated=isolated)
    return msgspec.convert(stored, operation.gives), headers


async def run_once(
    request: Request, work: Callable[..., Any], *, compared: Any, isolated: bool = False
) -> tuple[Any, list[Header]]:
    """Do the work of a request with an Idempotency-Key once, and return its result and a header if it is replayed.

    What is `compared` must be equal when the request is repeated. Work that may take long runs `isolated`, so that no
    other request waits for it.
    """
    key, fingerprint = idempotency_key(request), idempotency.digest(encode_json(compared))
    if isolated:
        run = partial(request.executor.engine.run, idempotency.run_once, key, fingerprint, do=work)
        result, is_replayed = await request.executor.run_in_thread(run)
    else:
        result, is_replayed = await request.executor.write(idempotency.run_once, key, fingerprint, do=work)
    return result, [REPLAYED] if is_replayed else []


def idempotency_key(request: Request) -> str:
    """Return the key of a request, distinct from equal keys of other callers and other operations."""
    given = request.header(b"idempotency-key")
    if len(given) > MAX_KEY_CHARACTERS:
        what = f"Idempotency-Key must be at most {MAX_KEY_CHARACTERS} characters, got {len(given)}"
        raise Invalid(what, "a UUID will do")
    return idempotency.digest(request.principal.name, request.route.name, given)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS


async def create_token(request: Request) -> Response:
    """Create a token; only this response holds its text.

    The first token closes the service: from then on every request must show one, also on loopback.
    """
    # By the engine's cache, so that this process knows it at once.
    options: TokenOptions = await request.document()
    create = partial(request.service.engine.tokens.create, options.role)
    more = {"lists": options.lists, "label": options.label, "expires": options.expires}
    token = await request.executor.run_in_thread(partial(create, **more))
    return Response(CreatedToken(token.text, token.info), 201)


async def revoke_token(request: Request) -> Revoked:
    """Revoke a token; every server refuses it within a second."""
    tokens, number = request.service.engine.tokens, request.path_params["id"]
    if not _is_number(number):
        raise NoSuchToken(f"there is no token {number[:100]!r}", "GET /v1/tokens lists their ids")
    return Revoked(await request.executor.run_in_thread(partial(tokens.revoke, int(number))))


async def unsubscribe(request: Request) -> Unsubscribed:
    """Remove a subscription by its number, and return how many existed."""
    topic, number = request.path_params["topic"], request.path_params["subscription"]
    if not _is_number(number):
        raise InvalidQuery(f"a subscription must be a number, got {number[:100]!r}", "list them to see their numbers")
    return Unsubscribed(await request.executor.write(subscriptions.unsubscribe, topic, int(number)))


async def retry_deliveries(request: Request) -> Retried:
    """Retry all failed deliveries of a topic, a page in each transaction."""
    count, last, topic = 0, FailedDelivery("", ""), request.path_params["topic"]
    while rows := await request.executor.read(records.failed, topic, after_list=last.list, after_key=last.key):
        count += await request.executor.write(records.retry, rows)
        last = rows[-1]
    return Retried(count)
