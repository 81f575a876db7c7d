"""Web helpers for applications on Starlette: routes, JSON, ETags, idempotency keys, as in the service."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rowlock.engine import Engine
from rowlock.errors import Invalid, InvalidBody, InvalidQuery, RowlockError, TooLarge
from rowlock.http import problems

Endpoint = Callable[[Request], Awaitable[Response]]

MAX_IDEMPOTENCY_KEY_CHARACTERS = 200
MAX_NUMBER = 10**18 - 1

_ETAG = re.compile(r'(?:W/)?"(\d{1,19})"')


def resource(path: str, *, engine: Engine | None = None, **endpoints: Endpoint) -> Route:
    """Return the route of a path, with an endpoint for each method: `resource("/comics", GET=show, POST=add)`.

    An error of rowlock is answered by the service, as text or JSON as the client accepts it. With an engine it is
    answered here, always as JSON.
    """

    async def respond(request: Request) -> Response:
        try:
            return await endpoints["GET" if request.method == "HEAD" else request.method](request)
        except RowlockError as error:
            if engine is None:
                raise
            return problem_response(error, engine)

    return Route(path, respond, methods=list(endpoints))


def problem_response(error: RowlockError, engine: Engine) -> Response:
    """Return an error as a problem document (RFC 9457), without the address of the database."""
    shown = problems.without_address(error, engine)
    headers = {name.decode(): value.decode() for name, value in problems.headers(shown)}
    body = msgspec.json.encode(problems.problem(shown))
    return Response(body, shown.http_status, headers, problems.TYPE.decode())


def json_response(value: Any, status: int = 200, *, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON."""
    return Response(msgspec.json.encode(value), status, headers, "application/json")


async def json_object(request: Request, *, max_bytes: int = 16 * 1024 * 1024) -> dict[str, Any]:
    """Return the JSON object in a request's body, or raise InvalidBody or TooLarge. Stops reading at the limit."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise TooLarge(f"the body is larger than {max_bytes} bytes", "send less")
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidBody("the body is not JSON", "check its quotes and commas") from None
    if not isinstance(found, dict):
        raise InvalidBody(f"the body must be a JSON object, got {type(found).__name__}", "send one like {…}")
    return found


def query_number(request: Request, name: str, *, default: int, minimum: int = 0, maximum: int = MAX_NUMBER) -> int:
    """Return a number of the query, or the default if it is not there; raise InvalidQuery."""
    return check_number(request.query_params.get(name, str(default)), name, minimum=minimum, maximum=maximum)


def check_number(text: str, name: str, *, minimum: int = 0, maximum: int = MAX_NUMBER) -> int:
    """Read a decimal number of a query or a path, or raise InvalidQuery."""
    # Bounded before it is read: reading a number takes time that grows with the square of its length.
    readable = text.isascii() and text.isdecimal() and len(text) <= len(str(maximum))
    if not readable or not minimum <= int(text) <= maximum:
        raise InvalidQuery(f"{name} must be a number from {minimum} to {maximum}, got {text[:50]!r}", "correct it")
    return int(text)


def next_link(request: Request, shown: Sequence[Any], *, count: int) -> dict[str, str]:
    """Return the Link header to the next page, after the last thing shown; none if the page is not full."""
    if len(shown) < count:
        return {}
    query = urlencode({"after": shown[-1], "count": count})
    return {"link": f'<{request.url.path}?{query}>; rel="next"'}


def idempotency_key(request: Request) -> str:
    """Return the Idempotency-Key of a request, empty if it has none."""
    given = request.headers.get("idempotency-key", "")
    if len(given) > MAX_IDEMPOTENCY_KEY_CHARACTERS:
        what = f"Idempotency-Key must have at most {MAX_IDEMPOTENCY_KEY_CHARACTERS} characters, got {len(given)}"
        raise Invalid(what, "a UUID will do")
    return given


def replayed(*, again: bool) -> dict[str, str]:
    """Return the header that marks a repeated answer to a request with an idempotency key."""
    return {"idempotency-replayed": "true"} if again else {}


def etag(version: int) -> dict[str, str]:
    """Return the ETag header of a version."""
    return {"etag": f'"{version}"'}


def is_not_modified(request: Request, version: int) -> bool:
    """Return whether the client has this version already, by If-None-Match."""
    return str(version) in _ETAG.findall(request.headers.get("if-none-match", ""))


def expected_versions(request: Request) -> tuple[int, ...] | None:
    """Return the versions that If-Match allows, None for any."""
    given = request.headers.get("if-match", "*").strip()
    if given == "*":
        return None
    found = [_ETAG.fullmatch(tag.strip()) for tag in given.split(",")]
    if not all(found):
        raise Invalid(f"If-Match must list ETags, got {given[:100]!r}", "send the ETag that you have read")
    return tuple(int(match[1]) for match in found if match)
