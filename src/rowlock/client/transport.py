"""Transport to a server: requests are sent again as long as that is harmless and may help; from any thread."""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from rowlock import json_codec
from rowlock.api.operation import ApiRequest, Operation
from rowlock.client.problems import error_of, stranger
from rowlock.environment import Environment
from rowlock.errors import ExtraMissing, InvalidData, InvalidUrl, OutcomeUnknown, RowlockError, Unavailable
from rowlock.http_url import HttpUrl, check_header, parse
from rowlock.json_codec import encode_json
from rowlock.model import ANY_VERSION, Versions

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

log = logging.getLogger("rowlock.client")

CONNECTING = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
IDLE_SECONDS = 20.0
"""Less than a server keeps an idle connection, so that we are the first to hang up."""
_HINT = "write it like http://127.0.0.1:8642"
JSON, LINES = "application/json", "application/x-ndjson"

Lines = Callable[[], Iterable[bytes]]
"""A body in pieces, to be had as often as it must be sent."""


class Terms(msgspec.Struct, frozen=True):
    """How a server is spoken to."""

    timeout: float
    """Seconds to wait for an answer."""
    patience: float
    """Seconds during which a request is asked again if nothing, or nothing useful, was heard."""
    environment: Environment
    options: Mapping[str, Any]
    """For httpx2."""


class HttpRequest(msgspec.Struct, frozen=True):
    """One request, as often as it must be sent."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes | Lines | None
    again: bool
    """Whether it is harmless to ask again if the answer was lost."""
    seconds: float
    """How long the answer may take."""


class Transport:
    """Sends requests to a server; connections are kept and shared by threads, and made anew after a fork."""

    def __init__(self, url: str, token: str | None, terms: Terms) -> None:
        self._target = _server(url)
        self._token = token
        self._terms = terms
        self._lock = threading.Lock()
        self._http: httpx2.Client | None = None
        self._process = os.getpid()
        self._reached = False
        if token is not None:
            check_header("authorization", token)
            self._warn_of_plain_text()

    @property
    def server(self) -> str:
        """The server's address, for people."""
        return self._target.shown.rstrip("/")

    def twin(self) -> "Transport":
        """The same by connections of its own."""
        made = Transport(self.server, self._token, self._terms)
        made._reached = self._reached
        return made

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            http, self._http = self._http, None
        if http is not None and self._process == os.getpid():
            http.close()

    def send(
        self,
        operation: Operation,
        request: ApiRequest,
        *,
        lines: Lines | None = None,
        size: int | None = None,
        keyed: bool | None = None,
        again: bool = False,
        wait: float = 0.0,
    ) -> Any:
        """Ask for an operation, again as long as that is harmless and may help; the document of its answer.

        `lines` of that `size` in bytes are sent instead of the body; `keyed` says whether an idempotency key is worth
        its price, where the operation takes one; `again` that this request is harmless to repeat; `wait` is
        how many seconds the server may wait before it answers.
        """
        known = {"accept": JSON, "user-agent": "rowlock"} | ({} if size is None else {"content-length": str(size)})
        if request.body is not None or lines is not None:
            known["content-type"] = JSON if lines is None else LINES
        if request.version is not None:
            known["if-match"] = _tags(request.version)
        if request.trace is not None:
            known["traceparent"] = request.trace
        if operation.keyed if keyed is None else keyed:
            known["idempotency-key"] = self._terms.environment.token()
        path = operation.path.format(**dict(zip(operation.parameters, map(_quoted, request.path), strict=True)))
        content = lines if request.body is None else _written(request.body)
        if operation.repeated:
            known["content-type"], content = LINES, b"".join(_written(each) + b"\n" for each in request.body)
        again = again or operation.idempotent or operation.keyed
        seconds = wait + self._terms.timeout
        sent = HttpRequest(operation.method, path + _query(request.query), known, content, again, seconds)
        return self._read(self._heard(sent), operation.read_as or operation.gives, cut=operation.deep)

    def _read(self, body: bytes, gives: type[T], *, cut: bool) -> T:
        try:
            return msgspec.json.decode(body, type=gives)
        except RecursionError:
            if cut:
                return self._read(json_codec.truncate(body), gives, cut=False)
            raise json_codec.too_deep(f"what {self.server} answered") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise stranger(self.server, "an answer that cannot be read") from None

    def _heard(self, request: HttpRequest) -> bytes:
        environment = self._terms.environment
        until, pause = environment.monotonic() + self._terms.patience, FIRST_PAUSE
        while True:
            try:
                return self._once(request)
            except _Again as trouble:
                wait = max(environment.jittered(pause), trouble.after)
                if environment.monotonic() + wait > until:
                    raise trouble.error from None
            environment.sleep(wait)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _once(self, request: HttpRequest) -> bytes:
        http = self._opened()
        with self._transport(request):
            answer = _sent(http, f"{self.server}{request.path}", request)
        self._reached = True
        if answer.status_code < 300:
            return answer.content
        error = error_of(answer.status_code, answer.content, server=self.server)
        if answer.status_code in (502, 503, 504) and self._is_worth_it(error, request):
            raise _Again(error, _seconds(answer.headers.get("retry-after", "")))
        raise error

    @staticmethod
    def _is_worth_it(error: RowlockError, request: HttpRequest) -> bool:
        # Where the outcome is not known, or something on the way has lost it, asking again must be harmless.
        known = type(error) is not Unavailable and not isinstance(error, OutcomeUnknown)
        return isinstance(error, Unavailable) and (known or request.again)

    @contextmanager
    def _transport(self, request: HttpRequest) -> Iterator[None]:
        import httpx2

        from rowlock.client.transport_errors import unreachable, was_sent  # both only where something is asked

        try:
            yield
        except httpx2.TransportError as error:
            why = unreachable(error, self.server)
            if was_sent(error) and not request.again:
                what = f"{why.what}; what was asked may have been done or not"
                raise OutcomeUnknown(what, "look, then decide whether to ask again") from None
            # A server that was never there is a wrong address; one that was there is coming back.
            if self._reached and why.fields["reason"] != "tls":
                raise _Again(why) from None
            raise why from None
        except httpx2.DecodingError:
            raise stranger(self.server, "an answer that cannot be unpacked") from None

    def _opened(self) -> "httpx2.Client":
        with self._lock:
            if self._process != os.getpid():
                # What a fork has is its parent's: two on one connection would hear each other's answers.
                self._process, self._http = os.getpid(), None
            if self._http is None:
                self._http = self._made()
            return self._http

    def _made(self) -> "httpx2.Client":
        try:
            import httpx2
        except ImportError:
            raise ExtraMissing("a client needs the package httpx2", "run: pip install 'rowlock[http]'") from None
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_SECONDS)
        headers = {} if self._token is None else {"authorization": f"Bearer {self._token}"}
        if self._is_here:
            headers["accept-encoding"] = "identity"  # to pack what goes nowhere is only work
        return httpx2.Client(headers=headers, limits=limits, **self._terms.options)

    @property
    def _is_here(self) -> bool:
        host = self._target.host
        return host == "localhost" or host.startswith("127.") or host == "::1"

    def _warn_of_plain_text(self) -> None:
        if not self._target.secure and not self._is_here:
            log.warning("the token for %s can be read on its way: use https", self.server)


def _sent(http: "httpx2.Client", url: str, request: HttpRequest) -> "httpx2.Response":
    import httpx2

    content = request.content() if callable(request.content) else request.content
    timeout = httpx2.Timeout(request.seconds, connect=CONNECTING)
    return http.request(request.method, url, headers=request.headers, content=content, timeout=timeout)


class _Again(Exception):
    """It may help to ask again, after a while."""

    def __init__(self, error: RowlockError, after: float = 0.0) -> None:
        self.error = error
        self.after = after


def _server(url: str) -> HttpUrl:
    try:
        target = parse(url)
    except InvalidUrl as error:
        hint = "show a token instead: ROWLOCK_TOKEN" if "@" in url else _HINT
        raise InvalidUrl(error.what.replace("of a request", "of a server"), hint) from None
    if "?" in target.path or "#" in url:
        raise InvalidUrl("the address of a server has a query", _HINT)
    return target


def _query(query: Mapping[str, Any]) -> str:
    given = {name: _text(value) for name, value in query.items() if value is not None}
    return f"?{urlencode(given, errors='replace', quote_via=quote)}" if given else ""


def _tags(version: Versions) -> str:
    if version is ANY_VERSION:
        return "*"
    return f'"{version}"' if isinstance(version, int) else ", ".join(f'"{each}"' for each in version)


def _quoted(part: str) -> str:
    # Two dots, or one, would be taken for a way up.
    return part.replace(".", "%2E") if part in (".", "..") else quote(part, safe="")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _written(body: Any) -> bytes:
    try:
        return encode_json(body).encode()
    except (TypeError, ValueError, RecursionError, OverflowError):
        raise InvalidData(
            "what was given cannot be written as JSON", "give text, numbers, lists and mappings"
        ) from None


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() else 0.0
