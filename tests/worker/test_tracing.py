"""Traces through work: spans of OpenTelemetry where somebody traces, a header for others, else nothing."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.receivers import Receiver, said
from tests.worker.running import work_off

from rowlock import AsyncEngine, Engine, Fail, Item, Processor, Retry, Worker
from rowlock.cli.command_output import CommandOutput
from rowlock.cli.terminal import Terminal
from rowlock.worker.exec.command_template import CommandTemplate
from rowlock.worker.exec.commands import Commands

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Where spans arrive; for this test alone."""
    found, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield found
    provider.shutdown()


@pytest.fixture
def worker(engine: Engine) -> Worker:
    return Worker(engine, concurrency=2, flush="5ms")


def written(context: trace.SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def parent(span: ReadableSpan) -> str | None:
    before = span.parent
    return None if before is None else written(before)


def name_of(span: ReadableSpan) -> str:
    return written(span.context)


def spans(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.kind is trace.SpanKind.CONSUMER]


def test_a_command_has_a_span_whose_trace_it_gets(
    engine: Engine, worker: Worker, exporter: InMemorySpanExporter, tmp_path: Path
) -> None:
    engine["work"].add("a", trace=TRACE)
    listener = CommandOutput(Terminal(quiet=True), count=lambda _: None)
    template = CommandTemplate((f"echo $TRACEPARENT > {tmp_path}/trace; exit 3; : {{}}",), shell=True)
    worker.execute("work", Commands(template, listener=listener, trouble=lambda _: None), attempts=1)
    worker.run(until="done", signals=False)
    [span] = spans(exporter)
    assert (parent(span), name_of(span)) == (TRACE, (tmp_path / "trace").read_text().strip())
    assert span.attributes["error.type"] == "exit 3"


def test_what_is_added_within_a_span_has_its_trace(engine: Engine, exporter: InMemorySpanExporter) -> None:
    with trace.get_tracer("test").start_as_current_span("asking"):
        engine["work"].add("a")
        engine["work"].add("b", trace=TRACE)
    engine["work"].add("c")
    [asking] = exporter.get_finished_spans()
    assert [item.trace for item in engine["work"].items()] == [name_of(asking), TRACE, None]


def test_what_is_added_within_a_span_by_a_coroutine_has_its_trace(url: str, exporter: InMemorySpanExporter) -> None:
    async def ask() -> str | None:
        async with AsyncEngine(url) as engine:
            with trace.get_tracer("test").start_as_current_span("asking"):
                await engine["work"].add("a")
            return (await engine["work"].show("a")).trace

    stored = asyncio.run(ask())
    assert stored == name_of(exporter.get_finished_spans()[0])


def test_a_plain_handler_runs_in_a_span_that_follows(
    engine: Engine, worker: Worker, exporter: InMemorySpanExporter
) -> None:
    within: list[str] = []

    def handle(item: Item) -> None:
        within.append(written(trace.get_current_span().get_span_context()))

    engine["work"].add("a", trace=TRACE)
    worker.on("work", handle)
    work_off(worker)
    [span] = spans(exporter)
    assert (span.name, parent(span), within) == ("process work", TRACE, [name_of(span)])
    told = {name: value for name, value in (span.attributes or {}).items() if name.startswith("rowlock.")}
    assert told == {
        "rowlock.list": "work",
        "rowlock.key": "a",
        "rowlock.gate": 0,
        "rowlock.attempt": 1,
        "rowlock.outcome": "done",
    }


def test_an_async_handler_runs_in_a_span_of_its_own(
    engine: Engine, worker: Worker, exporter: InMemorySpanExporter
) -> None:
    both = asyncio.Event()
    within: dict[str, int] = {}

    async def handle(item: Item) -> None:
        if item.key == "a":
            await asyncio.wait_for(both.wait(), 20)
        both.set()
        within[item.key] = trace.get_current_span().get_span_context().span_id

    engine["work"].add("a", trace=TRACE)
    engine["work"].add("b", trace=OTHER)
    worker.on("work", handle)
    work_off(worker)
    found = {str((span.attributes or {})["rowlock.key"]): span for span in spans(exporter)}
    assert {key: parent(span) for key, span in found.items()} == {"a": TRACE, "b": OTHER}
    assert within == {key: span.context.span_id for key, span in found.items()}


def test_an_item_without_a_trace_begins_one(engine: Engine, worker: Worker, exporter: InMemorySpanExporter) -> None:
    async def handle(_: Item) -> None: ...

    engine["work"].add("a")
    worker.on("work", handle)
    with trace.get_tracer("test").start_as_current_span("running the worker"):
        worker.run(until="done", signals=False)
    assert [parent(span) for span in spans(exporter)] == [None]


def test_a_batch_has_one_span_with_links(engine: Engine, worker: Worker, exporter: InMemorySpanExporter) -> None:
    def handle(_: Sequence[Item]) -> None: ...

    engine["work"].add(["a", "b"], trace=TRACE)
    engine["work"].add("c", trace=OTHER)
    engine["work"].add("d")
    worker.on("work", handle, batch=10)
    work_off(worker)
    [span] = spans(exporter)
    linked = [written(link.context) for link in span.links]
    assert (linked, parent(span), (span.attributes or {})["messaging.batch.message_count"]) == ([TRACE, OTHER], None, 4)


@pytest.mark.parametrize(
    ("outcome", "told", "wrong"),
    [
        (Fail("no such file", "missing"), "fail", "missing"),
        (Retry("too slow", kind="late"), "retry", "late"),
        (ValueError("x"), "retry", "ValueError"),
    ],
)
def test_a_failure_is_told_in_the_span(
    engine: Engine, worker: Worker, exporter: InMemorySpanExporter, outcome: object, told: str, wrong: str
) -> None:
    def handle(_: Item) -> object:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    engine["work"].add("a", trace=TRACE)
    worker.on("work", handle, attempts=1)
    work_off(worker)
    [span] = spans(exporter)
    attributes = span.attributes or {}
    assert (attributes["rowlock.outcome"], attributes["error.type"]) == (told, wrong)
    assert span.status.status_code is trace.StatusCode.ERROR


def test_a_processor_is_told_the_trace(engine: Engine, worker: Worker) -> None:
    server = Receiver(said({"done": True}))
    engine["work"].add("a", trace=TRACE)
    engine["work"].add("b")
    worker.process("work", Processor(server.url), allow=["localhost"])
    work_off(worker)
    server.close()
    told = {heard.headers["rowlock-key"]: heard.headers.get("traceparent") for heard in server.heard}
    assert told == {"a": TRACE, "b": None}


def test_a_processor_is_told_the_span_that_sent_it(
    engine: Engine, worker: Worker, exporter: InMemorySpanExporter
) -> None:
    server = Receiver(said({"done": True}))
    engine["work"].add("a", trace=TRACE)
    worker.process("work", Processor(server.url), allow=["localhost"])
    work_off(worker)
    server.close()
    [span] = spans(exporter)
    assert [heard.headers["traceparent"] for heard in server.heard] == [name_of(span)]


WITHOUT = """
import sys
from rowlock import Engine, Worker
with Engine(sys.argv[1]) as engine:
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", lambda item: None)
    worker.run(until="done", signals=False)
    assert engine["work"].counts().total == 0
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""


def test_where_nobody_traces_nothing_is_imported(url: str) -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT, url], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
