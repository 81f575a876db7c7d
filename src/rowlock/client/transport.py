"""Thread-safe HTTP transport to a server; it retries requests when a repetition is safe and may succeed."""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec

from rowlock import json_codec
from rowlock.api.documents import cell
from rowlock.api.operation import ApiRequest, Operation
from rowlock.client.errors import error_of_response, not_rowlock, unreachable, was_sent
from rowlock.environment import Environment
from rowlock.errors import (
    AlreadyClosed,
    ExtraMissing,
    InvalidData,
    InvalidUrl,
    OutcomeUnknown,
    RowlockError,
    Unavailable,
)
from rowlock.http_url import HttpUrl, check_header, parse
from rowlock.json_codec import encode_json
from rowlock.model import ANY_VERSION, Versions

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger("rowlock.client")

CONNECT_SECONDS = 5.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 2.0
IDLE_SECONDS = 20.0
"""Less than a server keeps an idle connection, so that we are the first to close it."""
URL_HINT = "write it like http://127.0.0.1:8642"
JSON, NDJSON = "application/json", "application/x-ndjson"

Pieces = Callable[[], Iterable[bytes]]
"""Returns a body in pieces, from the beginning each time it is called."""


class TransportOptions(msgspec.Struct, frozen=True):
    """How requests are sent to a server."""

    timeout: float
    """Seconds to wait for an answer."""
    patience: float
    """Seconds during which a request is repeated if no answer, or no useful one, came."""
    environment: Environment
    options: Mapping[str, Any]
    """For httpx2."""


class HttpRequest(msgspec.Struct, frozen=True):
    """One request, as often as it must be sent."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes | Pieces | None
    repeatable: bool
    """Whether it is harmless to send it again if the answer was lost."""
    seconds: float
    """How long the answer may take."""


class Transport:
    """Sends requests to a server; connections are kept and shared by threads, and made anew after a fork."""

    def __init__(self, url: str, token: str | None, options: TransportOptions) -> None:
        self._target = _parse_server(url)
        self._token = token
        self._options = options
        self._lock = threading.Lock()
        self._http: httpx2.Client | None = None
        self._process = os.getpid()
        self._reached = False
        self._closed = False
        host = self._target.host
        self._is_local = host == "localhost" or host.startswith("127.") or host == "::1"
        if token is not None:
            check_header("authorization", token)
            if not self._target.secure and not self._is_local:
                log.warning("the token for %s can be read on its way: use https", self.server)

    @property
    def server(self) -> str:
        """The server's address, for people."""
        return self._target.shown.rstrip("/")

    def twin(self) -> "Transport":
        """Return a transport to the same server with connections of its own."""
        made = Transport(self.server, self._token, self._options)
        made._reached = self._reached
        return made

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            http, self._http = self._http, None
            self._closed = True
        if http is not None and self._process == os.getpid():
            http.close()

    def send(
        self,
        operation: Operation,
        request: ApiRequest,
        *,
        reads: Any = None,
        pieces: Pieces | None = None,
        size: int | None = None,
        keyed: bool | None = None,
        wait: float = 0.0,
    ) -> Any:
        """Send a request, again as long as that is harmless and may help, and return the document of its answer.

        `reads` is the type of that document, if not all of it is wanted; `pieces` of that `size` in bytes are sent
        instead of the body; `keyed` says whether an idempotency key is worth its price, where the operation takes one;
        `wait` is how many seconds the server may wait before it answers.
        """
        headers = {"accept": JSON, "user-agent": "rowlock"} | ({} if size is None else {"content-length": str(size)})
        content: bytes | Pieces | None = pieces
        if operation.repeated:
            headers["content-type"], content = NDJSON, b"".join(_encode(each) + b"\n" for each in request.body)
        elif request.body is not None:
            headers["content-type"], content = JSON, _encode(request.body)
        elif pieces is not None:
            headers["content-type"] = NDJSON
        if request.version is not None:
            headers["if-match"] = _etags(request.version)
        if request.trace is not None:
            headers["traceparent"] = request.trace
        if operation.keyed if keyed is None else keyed:
            headers["idempotency-key"] = self._options.environment.token()
        path = operation.path.format(**dict(zip(operation.parameters, map(quote_segment, request.path), strict=True)))
        seconds = wait + self._options.timeout
        sent = HttpRequest(
            operation.method, path + _query(request.query), headers, content, operation.repeatable, seconds
        )
        return self._decode(self._send_until_answered(sent), reads or operation.document, truncate=operation.deep)

    def _decode(self, body: bytes, kind: Any, *, truncate: bool) -> Any:
        try:
            return msgspec.json.decode(body, type=kind)
        except RecursionError:
            if truncate:
                return self._decode(json_codec.truncate(body), kind, truncate=False)
            raise json_codec.too_deep(f"what {self.server} answered") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise not_rowlock(self.server, "an answer that cannot be read") from None

    def _send_until_answered(self, request: HttpRequest) -> bytes:
        environment = self._options.environment
        deadline, pause = environment.monotonic() + self._options.patience, FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._send_once(request)
            except _Again as again:
                wait = max(environment.jittered(pause), again.after)
                if environment.monotonic() + wait > deadline:
                    raise again.error from None
            environment.sleep(wait)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _send_once(self, request: HttpRequest) -> bytes:
        http = self._connected()
        import httpx2  # only after it is known to be installed

        content = request.content() if callable(request.content) else request.content
        timeout = httpx2.Timeout(request.seconds, connect=CONNECT_SECONDS)
        url = f"{self.server}{request.path}"
        try:
            answer = http.request(request.method, url, headers=request.headers, content=content, timeout=timeout)
        except httpx2.TransportError as cause:
            raise self._no_answer(cause, request) from None
        except httpx2.DecodingError:
            raise not_rowlock(self.server, "an answer that cannot be unpacked") from None
        self._reached = True
        if answer.status_code < 300:
            return answer.content
        error = error_of_response(answer.status_code, answer.content, server=self.server)
        if answer.status_code in (502, 503, 504) and _may_help(error, request):
            after = answer.headers.get("retry-after", "")
            raise _Again(error, float(after) if after.isdecimal() else 0.0)
        raise error

    def _no_answer(self, error: "httpx2.TransportError", request: HttpRequest) -> Exception:
        why = unreachable(error, self.server)
        if was_sent(error) and not request.repeatable:
            what = f"{why.what}; what was asked may have been done or not"
            return OutcomeUnknown(what, "look, then decide whether to ask again")
        # A server that was never there is a wrong address; one that was there is coming back.
        return _Again(why) if self._reached and why.fields["reason"] != "tls" else why

    def _connected(self) -> "httpx2.Client":
        with self._lock:
            if self._closed:
                raise AlreadyClosed.of("client")
            if self._process != os.getpid():
                # After a fork: two processes on one connection would read each other's answers.
                self._process, self._http = os.getpid(), None
            if self._http is None:
                self._http = self._connect()
            return self._http

    def _connect(self) -> "httpx2.Client":
        try:
            import httpx2
        except ImportError:
            raise ExtraMissing("a client needs the package httpx2", "run: pip install 'rowlock[http]'") from None
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_SECONDS)
        headers = {} if self._token is None else {"authorization": f"Bearer {self._token}"}
        if self._is_local:
            headers["accept-encoding"] = "identity"  # compression on one machine only costs time
        return httpx2.Client(headers=headers, limits=limits, **self._options.options)


class _Again(Exception):
    """A reason to send the request again, after some seconds."""

    def __init__(self, error: RowlockError, after: float = 0.0) -> None:
        self.error = error
        self.after = after


def _may_help(error: RowlockError, request: HttpRequest) -> bool:
    # Where the outcome is not known, or a proxy has lost it, a repetition must be harmless.
    known = type(error) is not Unavailable and not isinstance(error, OutcomeUnknown)
    return isinstance(error, Unavailable) and (known or request.repeatable)


def _parse_server(url: str) -> HttpUrl:
    try:
        target = parse(url)
    except InvalidUrl as error:
        hint = "show a token instead: ROWLOCK_TOKEN" if "@" in url else URL_HINT
        raise InvalidUrl(error.what.replace("of a request", "of a server"), hint) from None
    if "?" in target.path or "#" in url:
        raise InvalidUrl("the address of a server has a query", URL_HINT)
    return target


def _query(query: Mapping[str, Any]) -> str:
    given = {name: cell(value) for name, value in query.items() if value is not None}
    return f"?{urlencode(given, errors='replace', quote_via=quote)}" if given else ""


def _etags(version: Versions) -> str:
    if version is ANY_VERSION:
        return "*"
    return f'"{version}"' if isinstance(version, int) else ", ".join(f'"{each}"' for each in version)


def quote_segment(part: str) -> str:
    """Return a part of a path as it is sent."""
    # Proxies and libraries resolve a part of one or two dots.
    return part.replace(".", "%2E") if part in (".", "..") else quote(part, safe="")


def _encode(body: Any) -> bytes:
    try:
        return encode_json(body).encode()
    except (TypeError, ValueError, RecursionError, OverflowError):
        raise InvalidData(
            "what was given cannot be written as JSON", "give text, numbers, lists and mappings"
        ) from None
