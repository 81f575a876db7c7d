"""What a processor's answer means for its item."""

from typing import Any

import msgspec
import pytest
from tests.sample_items import claimed_item

from rowlock import Done, Fail, Move, Retry
from rowlock.delivery.connections import HttpResponse
from rowlock.outcomes import UNCHANGED
from rowlock.worker.http_processor import read_reply

ITEM = claimed_item("a", data='{"n":1}', gate=2)


def answer(body: Any, line: str = "200 OK", **headers: str) -> HttpResponse:
    status, _, phrase = line.partition(" ")
    text = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return HttpResponse(int(status), phrase, {name.replace("_", "-"): value for name, value in headers.items()}, text)


@pytest.mark.parametrize("spelling", [("done", "data"), ("complete", "response")])
def test_both_spellings_mean_the_same(spelling: tuple[str, str]) -> None:
    done, data = spelling
    assert read_reply(ITEM, answer({done: True, data: {"n": 2}})) == Done({"n": 2})
    assert read_reply(ITEM, answer({done: False, "gate": 3, data: {"n": 2}})) == Move(3, {"n": 2})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"done": True}, Done({"n": 1})),
        ({"done": True, "gate": 9}, Done({"n": 1})),
        ({"done": True, "gate": 0}, Done({"n": 1})),
        ({"done": True, "data": None}, Done({"n": 1})),
        ({"done": True, "data": False}, Done(False)),
        ({"gate": 3}, Move(3)),
        ({"gate": 3, "response": None}, Move(3)),
        ({"gate": "rank"}, Move("rank")),
        ({"gate": None, "data": {"n": 2}}, Move(None, {"n": 2})),
        ({"data": []}, Move(None, [])),
        ({"data": 0}, Move(None, 0)),
        ({"gate": 2, "data": {"n": 2}}, Move(2, {"n": 2})),
        ({"gate": 3, "other": "field", "error": None}, Move(3)),
        ({"gate": 3, "error": False}, Move(3)),
        ({"gate": 3, "error": ""}, Move(3)),
        ({"done": True, "complete": True}, Done({"n": 1})),
    ],
    ids=repr,
)
def test_what_is_absent_stays_as_it_is(body: Any, expected: Any) -> None:
    assert read_reply(ITEM, answer(body)) == expected


@pytest.mark.parametrize("body", [{}, {"done": False}, {"gate": 2}, {"data": {"n": 1}}, {"gate": 2, "data": {"n": 1}}])
def test_another_pass_that_changed_nothing_comes_after_a_while(body: Any) -> None:
    found = read_reply(ITEM, answer(body))
    assert isinstance(found, Move)
    assert found.after == 1.0
    assert found.data in (UNCHANGED, {"n": 1})


@pytest.mark.parametrize("gate", [1, 0, -1])
def test_a_gate_that_was_passed_is_a_failure_that_says_so(gate: int) -> None:
    found = read_reply(ITEM, answer({"gate": gate, "data": {"n": 2}}))
    said = f"the answer sends it to gate {gate}, which the list has passed: it is at gate 2"
    assert found == Fail(said, kind="gate-passed")


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("500 Internal Server Error", {"message": "m"}, "m"),
        ("200 OK", {"message": "m", "no_retry": False}, "m"),
        ("200 OK", {"message": "m", "no_retry": "true"}, "m"),
        ("404 Not Found", {}, ""),
        ("404 Not Found", "m", "m"),
        ("200 OK", {"message": 7}, "7"),
        ("200 OK", ["a", 1], '["a",1]'),
        ("200 OK", True, "true"),
    ],
)
def test_an_error_is_a_failed_attempt_whatever_the_status(line: str, error: Any, message: str) -> None:
    found = read_reply(ITEM, answer({"done": True, "error": error}, line))
    assert found == Retry(f"Status {line}; message: {message}", kind="error")


@pytest.mark.parametrize("line", ["200 OK", "500 Internal Server Error", "429 Too Many Requests"])
def test_an_error_that_is_not_to_be_retried_has_failed_at_once(line: str) -> None:
    found = read_reply(ITEM, answer({"error": {"message": "m", "no_retry": True}}, line, retry_after="3"))
    assert found == Fail(f"Status {line}; message: m", kind="error")


def test_a_long_message_is_cut_off_at_its_end() -> None:
    found = read_reply(ITEM, answer({"error": {"message": "m" * 500_000}}))
    assert isinstance(found, Retry)
    assert (found.error[:24], len(found.error)) == ("Status 200 OK; message: ", 2025)


@pytest.mark.parametrize("line", ["300 Multiple Choices", "302 Found", "400 Bad Request", "500 Internal Server Error"])
@pytest.mark.parametrize("body", [{}, b"", {"done": True}, {"gate": 3}, {"status": "no"}])
def test_a_status_that_is_no_success_is_a_failed_attempt(line: str, body: Any) -> None:
    assert read_reply(ITEM, answer(body, line)) == Retry(line, kind=f"status {line[:3]}")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "the answer is empty"),
        (b" \n", "the answer is empty"),
        (b'{"done": tr', "Input data was truncated"),
        (b"<html>Bad Gateway", "JSON is malformed"),
        (b'{"done": true} {}', "trailing characters"),
        (b'{"data": "\xff"}', "invalid UTF-8"),
        (b"\xff\xfe{\x00", "JSON is malformed"),
        (b"null", "Expected `object`"),
        (b"[]", "Expected `object`"),
        (b'"done"', "Expected `object`"),
        (b'{"gate": [3]}', "Expected `int | str | null`, got `array` - at `$.gate`"),
        (b'{"gate": 3.5}', "got `float` - at `$.gate`"),
        (b'{"gate": true}', "got `bool` - at `$.gate`"),
        (b'{"done": 1}', "got `int` - at `$.done`"),
        (b'{"complete": "yes"}', "got `str` - at `$.complete`"),
        (b'{"done": true, "complete": false}', "say different things"),
        (b'{"data": 1, "response": 2}', "say different things"),
        (b'{"data": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"data": 1e999}', "out of range"),
        (b'{"status": "ok"}', "none of the fields gate, done, data and error is there"),
        (b'{"data": "\\ud800"}', "truncated"),
    ],
)
def test_what_cannot_be_read_is_a_failed_attempt_that_says_why(body: bytes, why: str) -> None:
    found = read_reply(ITEM, answer(body))
    assert isinstance(found, Retry)
    assert (found.kind, found.counted) == ("marshal error", True)
    assert found.error.startswith("marshal error: ")
    assert why in found.error
    assert found.error.endswith(", from request with HTTP Status: 200 OK")
    assert len(found.error) < 400


def test_an_unreadable_answer_is_named_by_a_status_that_is_no_success() -> None:
    found = read_reply(ITEM, answer(b"<html>", "502 Bad Gateway"))
    assert isinstance(found, Retry)
    assert found.kind == "status 502"
    assert found.error.endswith(" in '<html>', from request with HTTP Status: 502 Bad Gateway")


DATE = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("0", 1.0),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("999999999", 3600.0),
        ("9" * 500, 3600.0),
        ("Wed, 21 Oct 2026 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 1.0),
        ("Wed, 21 Oct 2099 07:28:30 GMT", 3600.0),
    ],
)
@pytest.mark.parametrize("line", ["429 Too Many Requests", "503 Service Unavailable"])
@pytest.mark.parametrize("body", [{}, b"", {"error": "busy"}])
def test_who_asks_to_wait_is_waited_for_and_has_not_failed(line: str, body: Any, given: str, after: float) -> None:
    found = read_reply(ITEM, answer(body, line, retry_after=given, date=DATE))
    assert isinstance(found, Retry)
    assert (found.after, found.counted) == (after, False)


@pytest.mark.parametrize("given", ["", "soon", "-5", "1.5", "٣", "Wed, 99 Oct 2026", "1e9"])
def test_a_time_that_cannot_be_read_is_none(given: str) -> None:
    assert read_reply(ITEM, answer({}, "503 Busy", retry_after=given)) == Retry("503 Busy", kind="status 503")


def test_only_who_is_busy_is_waited_for() -> None:
    assert read_reply(ITEM, answer({}, "500 No", retry_after="5")) == Retry("500 No", kind="status 500")
