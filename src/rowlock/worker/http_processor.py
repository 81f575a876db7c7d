"""HTTP processors: each item is sent to its list's processor, and the answer is the item's outcome."""

import logging
import os
import time
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any
from urllib.parse import quote

import msgspec

from rowlock import schema, tracing
from rowlock.delivery.connections import HttpResponse
from rowlock.delivery.http_sender import OutgoingRequest, Sender, sender_from_environment
from rowlock.delivery.signatures import key
from rowlock.engine import Engine
from rowlock.engine.settings_cache import SettingsCache
from rowlock.errors import HostNotAllowed, Invalid, NoAnswer, Unavailable
from rowlock.http_url import HttpUrl
from rowlock.model import Item, Processor, Settings
from rowlock.outcomes import UNCHANGED, Done, Fail, Move, Outcome, Retry
from rowlock.worker.handlers import Handler, Turn
from rowlock.worker.health import ProcessorGroup

log = logging.getLogger("rowlock.worker")

MAX_ROUTES = 10_000
NOT_SENT_RETRY_SECONDS = 30.0
"""Until an item is tried again that could not be sent from here at all: another worker may send it."""
UNCHANGED_RETRY_SECONDS = 1.0
"""Until the next turn of an item that the response has left as it was."""
MAX_MESSAGE_CHARS, EXCERPT_BYTES = 2_000, 120

_AS_IT_IS = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


class ProcessorRoute(msgspec.Struct, frozen=True):
    """Where items of a list are sent, with which headers and signing keys."""

    processor: Processor
    target: HttpUrl
    headers: dict[str, str]
    keys: tuple[bytes, ...]


def make_route(processor: Processor, environment: Mapping[str, str], *, secrets: Iterable[str] = ()) -> ProcessorRoute:
    """Return the route to a processor; Invalid if a variable that it needs is not set or holds no secret."""
    keys = tuple(key(secret) for secret in (*secrets, *processor.secrets(environment)))
    return ProcessorRoute(processor, processor.target, processor.filled(environment), keys)


def check(processor: Processor, allow: Iterable[str] | None = None) -> None:
    """Refuse a processor that cannot be reached from here: its host is private, or a secret is missing."""
    sender_from_environment(allow).check(make_route(processor, os.environ).target)


class ProcessorHandler:
    """A handler that sends items to the processor of their list, or to the one that was given."""

    def __init__(
        self,
        engine: Engine,
        sender: Sender,
        *,
        given: Processor | None = None,
        secrets: Iterable[str] = (),
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._engine = engine
        self._sender = sender
        self._environment = environment
        self._secrets = tuple(secrets)
        self._given = None if given is None else make_route(given, environment, secrets=self._secrets)
        self._settings = SettingsCache(engine, engine.environment, max_lists=MAX_ROUTES)
        self._routes: dict[str, ProcessorRoute] = {}
        self._known: dict[str, Processor] = {}
        self._born: int | None = None
        if self._given is not None:
            sender.check(self._given.target)

    def processors(self, handler: Handler) -> ProcessorGroup:
        """Return the processors whose health matters to this handler."""
        if self._given is not None:
            return ProcessorGroup(self._sender, {handler.pattern: self._given.processor})
        return ProcessorGroup(self._sender, fits=handler.fits, known=self._known)

    def close(self) -> None:
        """Close idle connections."""
        self._sender.close()

    def accepts(self, settings: Settings) -> bool:
        """Return whether this handler works lists with these settings."""
        return self._given is not None or settings.processor is not None

    def handle(self, item: Item, turn: Turn) -> Outcome:
        """Send one item, and return the outcome that the answer says."""
        since = time.monotonic()
        try:
            outcome = self._send(item, turn)
        except NoAnswer as error:
            outcome = Retry(error.what, kind=error.fields["reason"])
        except (HostNotAllowed, Invalid, Unavailable) as error:
            # Nothing was sent: that is no failure of the item.
            log.warning("not sent: %s", error.what, extra={"list": item.list, "key": item.key, "code": error.code})
            outcome = Retry(str(error), after=NOT_SENT_RETRY_SECONDS, counted=False, kind=error.code)
        about = {"list": item.list, "key": item.key, "attempt": item.attempts + 1}
        seconds = round(time.monotonic() - since, 3)
        log.info("request ended", extra={**about, "outcome": type(outcome).__name__.lower(), "seconds": seconds})
        return outcome

    def _send(self, item: Item, turn: Turn) -> Outcome:
        route = self._given or self._route(item.list)
        if route is None:
            return Retry("the list has no processor any more", after=NOT_SENT_RETRY_SECONDS, counted=False)
        response = self._sender.post(route.target, self._request(item, route, turn), seconds=route.processor.seconds)
        return read_reply(item, response)

    def _route(self, name: str) -> ProcessorRoute | None:
        processor = self._settings[name].processor
        if processor is None:
            self._routes.pop(name, None)
            return None
        route = self._routes.get(name)
        if route is None or route.processor != processor:
            if len(self._routes) >= MAX_ROUTES:
                self._routes.clear()
                self._known.clear()
            self._known[name] = processor
            route = self._routes[name] = make_route(processor, self._environment, secrets=self._secrets)
        return route

    def _request(self, item: Item, route: ProcessorRoute, turn: Turn) -> OutgoingRequest:
        headers = {
            **route.headers,
            "rowlock-list": written(item.list),
            "rowlock-key": written(item.key),
            "rowlock-gate": str(item.gate),
            "rowlock-attempt": str(item.attempts + 1),
            "rowlock-token": turn.token,
        }
        if (traceparent := tracing.outgoing_traceparent([item])) is not None:
            headers["traceparent"] = traceparent
        return OutgoingRequest(self._id(item), (item.raw_data or "null").encode(), headers, route.keys)

    def _id(self, item: Item) -> str:
        # A position is used once: the id is the same if a turn is repeated, and another if the item is added again.
        if self._born is None:
            self._born = self._engine.read(schema.born)
        named = f"{self._born} {item.position} {item.key}"
        return f"item_{blake2b(named.encode(), digest_size=16).hexdigest()}"


def written(text: str) -> str:
    """Return a name as a header value: percent-encoded where it is not plain ASCII."""
    return quote(text, safe=_AS_IT_IS)


class Reply(msgspec.Struct, frozen=True):
    """A response's body as processors write it, in either spelling; absent and null mean the same."""

    gate: int | str | None = None
    done: bool | None = None
    complete: bool | None = None
    data: Any = None
    response: Any = None
    error: Any = None


_FIELDS = set(Reply.__struct_fields__)


def read_reply(item: Item, response: HttpResponse) -> Outcome:
    """Return the outcome that a processor's response says."""
    try:
        reply = msgspec.json.decode(response.body, type=Reply)
        finished, data = _one(reply.done, reply.complete), _one(reply.data, reply.response)
        # `{}` leaves the item as it is; `{"status": "ok"}` is no such reply, and would be repeated for ever.
        if response.ok and reply == Reply() and not msgspec.json.decode(response.body, type=dict).keys() <= _FIELDS:
            raise ValueError("none of the fields gate, done, data and error is there")
    except (ValueError, RecursionError) as error:
        return _unreadable(response, error)
    if reply.error not in (None, False, ""):
        return _failed(response, reply.error)
    if not response.ok:
        return _retry(response, response.line)
    if finished:
        return Done(item.data if data is None else data)
    return _moved(item, reply.gate, data)


def _one(first: Any, second: Any) -> Any:
    if first is not None and second is not None and first != second:
        raise ValueError("the two spellings of one field say different things")
    return second if first is None else first


def _unreadable(response: HttpResponse, error: Exception) -> Retry:
    if not response.body.strip():
        if not response.ok:
            return _retry(response, response.line)
        what = "the answer is empty"
    elif isinstance(error, UnicodeDecodeError):
        what = "invalid UTF-8"
    else:
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    beginning = response.body[:EXCERPT_BYTES].decode(errors="replace")
    excerpt = f" in {beginning!r}" if beginning.strip() else ""
    message = f"marshal error: {what}{excerpt}, from request with HTTP Status: {response.line}"
    return _retry(response, message, kind="marshal error" if response.ok else None)


def _failed(response: HttpResponse, error: Any) -> Retry | Fail:
    fields = error if isinstance(error, dict) else {"message": error}
    text = fields.get("message", "")
    text = text if isinstance(text, str) else msgspec.json.encode(text).decode()
    shown = text if len(text) <= MAX_MESSAGE_CHARS else f"{text[:MAX_MESSAGE_CHARS]}…"
    message = f"Status {response.line}; message: {shown}"
    return Fail(message, kind="error") if fields.get("no_retry") is True else _retry(response, message, kind="error")


def _retry(response: HttpResponse, message: str, *, kind: str | None = None) -> Retry:
    wait = response.retry_after_seconds
    # A processor that says when to try again has not tried: that counts as no attempt.
    return Retry(message, after=wait, counted=wait is None, kind=kind or f"status {response.status}")


def _moved(item: Item, gate: int | str | None, data: Any) -> Outcome:
    if isinstance(gate, int) and gate < item.gate:
        what = f"the answer sends it to gate {gate}, which the list has passed: it is at gate {item.gate}"
        return Fail(what, kind="gate-passed")
    stays = gate in (None, item.gate) and (data is None or msgspec.json.encode(data).decode() == item.raw_data)
    return Move(gate, UNCHANGED if data is None else data, UNCHANGED_RETRY_SECONDS if stays else None)
