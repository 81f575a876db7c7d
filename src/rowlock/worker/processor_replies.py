"""Replies: what a processor answered, read as the outcome of an item's turn. Whatever it is, it is one."""

from typing import Any

import msgspec

from rowlock.delivery.responses import HttpResponse, retry_after_seconds
from rowlock.model import Item
from rowlock.outcomes import UNCHANGED, Done, Fail, Move, Outcome, Retry

AGAIN = 1.0
"""Seconds until another pass over an item that the last one has left as it was."""
MESSAGE, EXCERPT = 2_000, 120


class Reply(msgspec.Struct, frozen=True):
    """An answer as processors write it, in either spelling; what is absent or null says nothing."""

    gate: int | str | None = None
    done: bool | None = None
    complete: bool | None = None
    data: Any = None
    response: Any = None
    error: Any = None


_KNOWN = set(Reply.__struct_fields__)


def outcome(item: Item, answer: HttpResponse) -> Outcome:
    """What becomes of the item."""
    try:
        reply = msgspec.json.decode(answer.body, type=Reply)
        finished, data = _one(reply.done, reply.complete), _one(reply.data, reply.response)
        _refuse_foreign(reply, answer)
    except (ValueError, RecursionError) as error:
        return _unread(answer, error)
    if reply.error not in (None, False, ""):
        return _failed(answer, reply.error)
    if not answer.well:
        return _again(answer, answer.line)
    if finished:
        return Done(item.data if data is None else data)
    return _moved(item, reply.gate, data)


def _one(first: Any, second: Any) -> Any:
    if first is not None and second is not None and first != second:
        raise ValueError("the two spellings of one field say different things")
    return second if first is None else first


def _refuse_foreign(reply: Reply, answer: HttpResponse) -> None:
    # `{}` leaves the item as it is; `{"status": "ok"}` is no answer to what was asked, and would be asked for ever.
    if answer.well and reply == Reply() and not msgspec.json.decode(answer.body, type=dict).keys() <= _KNOWN:
        raise ValueError("none of the fields gate, done, data and error is there")


def _unread(answer: HttpResponse, error: Exception) -> Retry:
    if not answer.well and not answer.body.strip():
        return _again(answer, answer.line)
    what = "the answer is empty" if not answer.body.strip() else _spoken(error)
    began = answer.body[:EXCERPT].decode(errors="replace")
    excerpt = f" in {began!r}" if began.strip() else ""
    said = f"marshal error: {what}{excerpt}, from request with HTTP Status: {answer.line}"
    return _again(answer, said, kind="marshal error" if answer.well else None)


def _spoken(error: Exception) -> str:
    match error:
        case UnicodeDecodeError():
            return "invalid UTF-8"
        case RecursionError():
            return "nested too deeply"
    return str(error)


def _failed(answer: HttpResponse, error: Any) -> Retry | Fail:
    told = error if isinstance(error, dict) else {"message": error}
    message = told.get("message", "")
    message = message if isinstance(message, str) else msgspec.json.encode(message).decode()
    said = f"Status {answer.line}; message: {_bounded(message)}"
    return Fail(said, kind="error") if told.get("no_retry") is True else _again(answer, said, kind="error")


def _bounded(message: str) -> str:
    return message if len(message) <= MESSAGE else f"{message[:MESSAGE]}…"


def _again(answer: HttpResponse, said: str, *, kind: str | None = None) -> Retry:
    kind = kind or f"status {answer.status}"
    asked = retry_after_seconds(answer)
    # Who says when it wants to be asked again has not tried, and so has not failed.
    return Retry(said, kind=kind) if asked is None else Retry(said, after=asked, counted=False, kind=kind)


def _moved(item: Item, gate: int | str | None, data: Any) -> Outcome:
    if isinstance(gate, int) and gate < item.gate:
        what = f"the answer sends it to gate {gate}, which the list has passed: it is at gate {item.gate}"
        return Fail(what, kind="gate-passed")
    stays = gate in (None, item.gate) and (data is None or msgspec.json.encode(data).decode() == item.raw_data)
    return Move(gate, UNCHANGED if data is None else data, AGAIN if stays else None)
