"""HTTP responses, and why there was none, in words that can be stored with an item."""

import ssl
import time
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException, IncompleteRead, RemoteDisconnected

import msgspec

from rowlock.errors import NoAnswer
from rowlock.http_url import HttpUrl

MAX_PHRASE_CHARACTERS = 100
RETRY_AFTER_STATUSES = (429, 503)
MIN_RETRY_AFTER_SECONDS, MAX_RETRY_AFTER_SECONDS = 1.0, 3_600.0


class HttpResponse(msgspec.Struct, frozen=True):
    """A response of the server."""

    status: int
    phrase: str
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def line(self) -> str:
        """The status line: `503 Service Unavailable`."""
        return f"{self.status} {self.phrase}".rstrip()


def phrase(status: int, given: str) -> str:
    """Return the reason phrase of the server if it is printable, else the standard one."""
    given = given.strip()
    if given and given.isprintable():
        return given[:MAX_PHRASE_CHARACTERS]
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""


def retry_after_seconds(answer: HttpResponse) -> float | None:
    """Return the Retry-After of a 429 or 503 in seconds, or None."""
    given = answer.headers.get("retry-after", "").strip()
    if answer.status not in RETRY_AFTER_STATUSES or not given:
        return None
    try:
        seconds = float(given) if given.isascii() and given.isdecimal() else _until(given, answer.headers.get("date"))
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, MIN_RETRY_AFTER_SECONDS), MAX_RETRY_AFTER_SECONDS)


def _until(given: str, date: str | None) -> float:
    # By the clock of the server, if its Date is known.
    since = parsedate_to_datetime(date).timestamp() if date else time.time()
    return parsedate_to_datetime(given).timestamp() - since


class RejectedResponse(Exception):
    """The rest of a response is not read: a short reason, and a sentence part for people."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


def too_large() -> RejectedResponse:
    """Return the error for a response above the size limit."""
    return RejectedResponse("too large", "it is too large")


def compressed() -> RejectedResponse:
    """Return the error for a compressed response: it was not requested, and may expand a thousand times."""
    return RejectedResponse("compressed", "it is compressed, which was not requested")


def no_answer(target: HttpUrl, error: Exception, *, seconds: float) -> NoAnswer:
    """Return the NoAnswer for a failure, with a short `reason`; it contains no key, no query and no library text."""
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
