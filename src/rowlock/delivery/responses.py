"""Answers: what came back, bounded; and why nothing did, in words that may be kept with an item."""

import ssl
import time
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException, IncompleteRead, RemoteDisconnected

import msgspec

from rowlock.errors import NoAnswer
from rowlock.http_url import HttpUrl

PHRASE = 100
LATER = (429, 503)
SOONEST, LATEST = 1.0, 3_600.0


class HttpResponse(msgspec.Struct, frozen=True):
    """What the other side said."""

    status: int
    phrase: str
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def well(self) -> bool:
        """Whether it is a success, by its status."""
        return 200 <= self.status < 300

    @property
    def line(self) -> str:
        """The status for people: `503 Service Unavailable`."""
        return f"{self.status} {self.phrase}".rstrip()


def phrase(status: int, given: str) -> str:
    """What the other side calls its status, if it can be shown; else what everybody does."""
    given = given.strip()
    if given and given.isprintable():
        return given[:PHRASE]
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""


def retry_after_seconds(answer: HttpResponse) -> float | None:
    """For how many seconds whoever is too busy wants to be left alone, if it says so."""
    given = answer.headers.get("retry-after", "").strip()
    if answer.status not in LATER or not given:
        return None
    try:
        seconds = float(given) if given.isascii() and given.isdecimal() else _until(given, answer.headers.get("date"))
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, SOONEST), LATEST)


def _until(given: str, date: str | None) -> float:
    # By the clock of who says so, where that is known.
    since = parsedate_to_datetime(date).timestamp() if date else time.time()
    return parsedate_to_datetime(given).timestamp() - since


class RejectedResponse(Exception):
    """Why we do not want to hear more: a reason in a word or two, and a few words for people."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


def too_large() -> RejectedResponse:
    """More came than anybody wants to read."""
    return RejectedResponse("too large", "it is too large")


def compressed() -> RejectedResponse:
    """What came is in a form that was not asked for, and may be a thousand times as large as it looks."""
    return RejectedResponse("compressed", "it is compressed, which was not asked for")


def no_answer(target: HttpUrl, error: Exception, *, seconds: float) -> NoAnswer:
    """Why there is no answer: a sentence, and a reason in a word or two; nothing of a driver, a key or a query."""
    reason, words = _reason(error, seconds)
    return NoAnswer(f"{target.shown} gave no answer: {words}", reason=reason)


def _reason(error: Exception, seconds: float) -> tuple[str, str]:
    match error:
        case RejectedResponse():
            return error.reason, str(error)
        case TimeoutError():
            return "timeout", f"timed out after {seconds:g}s"
        case ssl.SSLCertVerificationError():
            return "tls", f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return "tls", f"TLS failed: {(error.reason or 'no reason given').lower().replace('_', ' ')}"
        case RemoteDisconnected() | ConnectionResetError() | BrokenPipeError():
            return "closed", "the connection was closed"
        case IncompleteRead():
            return "cut off", "it was cut off"
        case HTTPException() | ValueError() | OverflowError():
            return "garbled", "what came is not HTTP"
        case OSError():
            return "connection", (error.strerror or "no connection").lower()
    raise error
