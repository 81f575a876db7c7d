"""A handler that raises speaks: in the log, in hooks, and with the failure that is stored."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest
import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport
from tests.worker.logs import collected
from tests.worker.running import work_off

from rowlock import Engine, Fail, Item, Retry, Worker


def broken(_: Item) -> None:
    raise OSError("no answer")


async def broken_async(_: Item) -> None:
    raise OSError("no answer")


def broken_batch(_: list[Item]) -> None:
    raise OSError("no answer")


def unpicklable(_: Item) -> None:
    class Odd(Exception):
        pass

    raise Odd("no answer")


@pytest.mark.parametrize(
    ("function", "options"),
    [(broken, {}), (broken_async, {}), (broken_batch, {"batch": 10}), (broken, {"processes": True})],
)
def test_a_handler_that_raises_is_logged_with_its_item(engine: Engine, function: Any, options: dict[str, Any]) -> None:
    engine["work"].add("a.jpg")
    worker = Worker(engine)
    worker.on("work", function, attempts=2, backoff="0s", **options)
    with collected() as records:
        work_off(worker)
    assert [record.getMessage().partition(" (")[0] for record in records] == [
        "work 'a.jpg' failed, attempt 1 of 2: OSError: no answer",
        "work 'a.jpg' failed, attempt 2 of 2: OSError: no answer",
    ]
    fields = vars(records[0])
    assert (fields["list"], fields["key"], fields["attempt"]) == ("work", "a.jpg", 1)
    assert (fields["error"], records[0].levelname, records[0].exc_info) == ("OSError: no answer", "WARNING", None)
    assert f"in {function.__name__}" in fields["traceback"]


def test_the_last_failure_keeps_its_traceback(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", broken, attempts=3, backoff="0s")
    work_off(worker)
    last, *before = engine["work"].failures("a")
    text = last.traceback or ""
    assert text.startswith("Traceback (most recent call last):\n  File ")
    assert ("in broken\n" in text, text.endswith("\nOSError: no answer"), "thread_pool" in text) == (True, True, False)
    assert [failure.traceback for failure in before] == [None, None]


def test_an_error_that_is_returned_is_neither_logged_nor_raised(engine: Engine) -> None:
    engine["work"].add(["a", "b"])
    worker = Worker(engine)
    worker.on("work", lambda item: Fail("no") if item.key == "a" else Retry("not now"), attempts=1)
    with collected() as records:
        work_off(worker)
    assert [engine["work"].failures(key)[0].traceback for key in "ab"] == [None, None]
    assert records == []


def test_an_exception_given_as_an_error_brings_its_traceback(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine)

    @worker.on("work")
    def fail(item: Item) -> Fail:
        try:
            broken(item)
        except OSError as error:
            return Fail(error)  # type: ignore[arg-type]
        raise AssertionError

    work_off(worker)
    assert "in broken" in (engine["work"].failures("a")[0].traceback or "")


def test_control_characters_are_escaped_and_the_size_is_bounded(engine: Engine) -> None:
    key = "k\x1b[31m" + "k" * 400
    engine["work"].add(key)
    worker = Worker(engine)

    @worker.on("work", attempts=1)
    def shout(_: Item) -> None:
        raise ValueError("one\ntwo \x1b[31m" + "x" * 100_000)

    with collected() as records:
        work_off(worker)
    [record] = records
    message = record.getMessage()
    assert (message.isprintable(), len(message) < 700, r"one\ntwo \x1b[31m" in message) == (True, True, True)
    assert "\x1b" not in vars(record)["traceback"]
    stored = engine["work"].failures(key)[0].traceback or ""
    assert (len(stored) < 4_001, "in shout" in stored) == (True, True)


def test_the_traceback_itself_is_logged_when_debugging(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", broken, attempts=1)
    with collected(logging.DEBUG) as records:
        work_off(worker)
    [raised] = [record for record in records if record.exc_info]
    assert raised.exc_info[0] is OSError  # type: ignore[index]


def test_a_handler_that_times_out_is_logged(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine)
    errors: list[BaseException] = []
    worker.on_error(lambda error, _: errors.append(error))

    @worker.on("work", attempts=1, timeout="20ms")
    def wait(_: Item, turn: Any) -> None:
        turn.cancelled.wait()

    with collected() as records:
        work_off(worker)
    assert [record.getMessage() for record in records] == [
        "work 'a' failed, attempt 1 of 1: timeout: timed out after 0.02s"
    ]
    assert [type(error) for error in errors] == [TimeoutError]


def test_a_hook_is_called_once_for_a_batch_that_raises(engine: Engine) -> None:
    engine["work"].add(["a", "b", "c"])
    worker = Worker(engine)
    worker.on("work", broken_batch, batch=10, attempts=1)
    called: list[tuple[str, list[str]]] = []

    @worker.on_error
    def note(error: BaseException, items: Sequence[Item]) -> None:
        called.append((str(error), [item.key for item in items]))

    with collected() as records:
        work_off(worker)
    assert called == [("no answer", ["a", "b", "c"])]
    [message] = [record.getMessage() for record in records]
    assert message.startswith("work 'a' and 2 more failed, attempt 1 of 1: OSError: no answer (test_error_reports.py:")
    assert message.endswith(" in broken_batch)")


def test_an_exception_that_cannot_leave_its_process_is_reported_by_its_text(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", unpicklable, processes=True, attempts=1)
    errors: list[BaseException] = []
    worker.on_error(lambda error, _: errors.append(error))
    work_off(worker)
    assert [str(error) for error in errors] == ["Odd: no answer"]
    assert engine["work"].failures("a")[0].kind == "Odd"


class _Kept(Transport):
    """A transport of Sentry's that keeps what it would send."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Any] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        self.events.append(envelope.get_event())


def test_a_hook_sends_what_a_handler_raised_to_sentry(engine: Engine) -> None:
    engine["work"].add("a")
    worker, kept = Worker(engine), _Kept()
    worker.on("work", broken, attempts=1)

    @worker.on_error
    def capture(error: BaseException, items: Sequence[Item]) -> None:
        with sentry_sdk.new_scope() as scope:
            scope.set_tag("list", items[0].list)
            scope.set_context("rowlock", {"keys": [item.key for item in items], "attempt": items[0].attempts + 1})
            scope.capture_exception(error)

    sentry_sdk.init(dsn="https://key@example.org/1", transport=kept, default_integrations=False)
    try:
        work_off(worker)
    finally:
        sentry_sdk.init()  # without a DSN it sends nothing
    [event] = kept.events
    [raised] = event["exception"]["values"]
    assert (raised["type"], raised["value"], event["tags"]) == ("OSError", "no answer", {"list": "work"})
    assert event["contexts"]["rowlock"] == {"keys": ["a"], "attempt": 1}
    assert raised["stacktrace"]["frames"][-1]["function"] == "broken"


def test_a_failure_that_no_other_attempt_can_mend_is_logged_as_final(engine: Engine) -> None:
    engine["work"].add("a", data="text")
    worker = Worker(engine)

    @worker.on("work", attempts=5, data=int)
    def take(_: Item) -> None:
        raise AssertionError

    with collected() as records:
        work_off(worker)
    [message] = [record.getMessage() for record in records]
    assert message.startswith("work 'a' failed for good: invalid-data: the data of 'a' does not fit")
