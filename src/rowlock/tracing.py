"""W3C traceparents of items, and OpenTelemetry spans around handlers.

Only this module and `metrics` know OpenTelemetry. It is never imported here: an application that traces has imported
it before, and one that does not pays for one dictionary lookup.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rowlock.errors import Invalid
from rowlock.model import Item
from rowlock.names import short_repr
from rowlock.outcomes import Fail, Outcome, Retry, is_failure

API = "opentelemetry.trace"
MAX_LINKS = 128
TRACE_ID = "{trace_id}"
"""Stands for the id in the address of a trace."""

Ended = Callable[[Outcome], None]

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)


def parse_traceparent(text: str | None) -> str | None:
    """Read a traceparent header and write it as version 00; None if it is missing or malformed."""
    match = _TRACEPARENT.fullmatch(text.strip()) if text else None
    if match is None:
        return None
    version, trace, span, flags, rest = match.groups()
    if version == "ff" or not trace.strip("0") or not span.strip("0") or (version == "00" and rest is not None):
        return None
    # Of later versions only the first flag is defined.
    known = flags if version == "00" else f"{int(flags, 16) & 1:02x}"
    return f"00-{trace}-{span}-{known}"


def check_traceparent(trace: str | None) -> str | None:
    """Return the traceparent as `parse_traceparent` does; refuse a malformed one."""
    if trace is None:
        return None
    parsed = parse_traceparent(trace) if isinstance(trace, str) else None
    if parsed is None:
        what = f"trace must be a W3C traceparent, got {short_repr(trace)}"
        raise Invalid(what, "it looks like 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    return parsed


def check_trace_url(url: str) -> str:
    """Return the address of traces in a viewer, which may be empty; refuse one that is no http URL, or has no id."""
    if url and (not url.startswith(("http://", "https://")) or TRACE_ID not in url):
        what = f"trace_url must be an http URL that contains {TRACE_ID}, got {short_repr(url)}"
        raise Invalid(what, f"write it like https://jaeger.example/trace/{TRACE_ID}")
    return url


def trace_id(traceparent: str) -> str:
    """Return the id of the trace of a traceparent."""
    return traceparent.split("-")[1]


def check_item(item: Item) -> None:
    """Refuse an item whose traceparent is malformed."""
    check_traceparent(item.trace)


def _api() -> Any:
    api = sys.modules.get(API)
    # Another thread may be importing it at this moment.
    return api if api is not None and hasattr(api, "use_span") else None


def current_traceparent() -> str | None:
    """Return the traceparent of the current span; None without one."""
    api = _api()
    if api is None:
        return None
    return _traceparent(api.get_current_span().get_span_context())


def _traceparent(context: Any) -> str | None:
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def outgoing_traceparent(items: Sequence[Item]) -> str | None:
    """Return the traceparent to pass on with items: of the current span, or the one that all items share."""
    traces = {item.trace for item in items}
    return current_traceparent() or (traces.pop() if len(traces) == 1 else None)


def spans() -> "Spans | None":
    """Return what makes spans around handlers; None if OpenTelemetry is not in use."""
    api = _api()
    return None if api is None else Spans(api)


class Spans:
    """A factory of spans around the turns of handlers."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self._tracer = api.get_tracer("rowlock")

    @contextmanager
    def of_item(self, item: Item) -> Iterator[Ended]:
        """Make a span whose parent is the one that added the item; call what this yields with the outcome."""
        with self._api.use_span(self._start_of_item(item), end_on_exit=True) as span:
            yield lambda outcome: self._note(span, outcome)

    @contextmanager
    def of_batch(self, items: Sequence[Item]) -> Iterator[None]:
        """Make a span for a batch of items, linked to the spans that added them."""
        with self._api.use_span(self._start_of_batch(items), end_on_exit=True):
            yield

    def of_command(self, items: Sequence[Item]) -> tuple[str | None, Ended]:
        """Start the span of a command, in no thread's context; return its traceparent, and what ends it."""
        span = self._start_of_item(items[0]) if len(items) == 1 else self._start_of_batch(items)

        def end(outcome: Outcome) -> None:
            if len(items) == 1:
                self._note(span, outcome)
            span.end()

        return _traceparent(span.get_span_context()), end

    def _start_of_item(self, item: Item) -> Any:
        attributes = {"rowlock.key": item.key, "rowlock.gate": item.gate, "rowlock.attempt": item.attempts + 1}
        return self._start(item.list, attributes, parent=self._remote(item.trace))

    def _start_of_batch(self, items: Sequence[Item]) -> Any:
        traces = dict.fromkeys(item.trace for item in items if item.trace is not None)
        contexts = [self._remote(trace) for trace in list(traces)[:MAX_LINKS]]
        links = [self._api.Link(context) for context in contexts if context is not None]
        return self._start(items[0].list, {"messaging.batch.message_count": len(items)}, links=links)

    def _start(self, name: str, attributes: dict[str, Any], *, parent: Any = None, links: Sequence[Any] = ()) -> Any:
        # Without a parent it begins a new trace: the span in which the worker was started is unrelated.
        before = self._api.INVALID_SPAN if parent is None else self._api.NonRecordingSpan(parent)
        known = {"messaging.system": "rowlock", "messaging.operation.type": "process", "rowlock.list": name}
        return self._tracer.start_span(
            f"process {name}",
            self._api.set_span_in_context(before),
            self._api.SpanKind.CONSUMER,
            {**known, **attributes},
            links,
        )

    def _note(self, span: Any, outcome: Outcome) -> None:
        span.set_attribute("rowlock.outcome", type(outcome).__name__.lower())
        if isinstance(outcome, Fail | Retry) and is_failure(outcome):
            span.set_attribute("error.type", outcome.kind)
            span.set_status(self._api.StatusCode.ERROR, outcome.error)

    def _remote(self, trace: str | None) -> Any:
        if trace is None:
            return None
        _, trace_id, span_id, flags = trace.split("-")
        sampled = self._api.TraceFlags(int(flags, 16))
        return self._api.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=sampled)
