"""Problems: an error as RFC 9457 says it, and its twin of one line for who reads text."""

from typing import Any

from rowlock.engine import Engine
from rowlock.errors import RowlockError
from rowlock.http import iidy
from rowlock.http.call import Answer, Call, Header
from rowlock.http.media_types import MediaType

DOCS = "https://rowlock.dev/docs/reference/errors#"
TYPE = b"application/problem+json"
RETRY_AFTER = 1


def problem(error: RowlockError, request: str = "") -> dict[str, Any]:
    """The document that says what is wrong."""
    known = {
        "type": f"{DOCS}{error.code}",
        "title": type(error).__name__,
        "status": error.http_status,
        "code": error.code,
        "detail": error.what,
        "hint": error.hint,
    }
    more = {name: value for name, value in error.fields.items() if value is not None and name not in known}
    return {**known, **({"request": request} if request else {}), **more}


def line(error: RowlockError) -> str:
    """The same in one line."""
    hint = f" (hint: {error.hint})" if error.hint else ""
    return " ".join(f"error {error.code}: {error.what}{hint}".split()) + "\n"


def answer(error: RowlockError, call: Call) -> Answer:
    """The answer that tells an error, in the kind that was asked for."""
    error = without_address(error, call.service.engine)
    if call.route.iidy:
        return Answer(iidy.problem(error, call.media_type), error.http_status, headers(error))
    value = line(error) if call.media_type is MediaType.TEXT else problem(error, call.id.decode())
    return Answer(value, error.http_status, headers(error))


def without_address(error: RowlockError, engine: Engine) -> RowlockError:
    """The same for whoever asks from elsewhere: they need not know where the database is."""
    shown = engine.database.address.shown
    if shown not in error.what and shown not in error.hint:
        return error
    what, hint = (text.replace(shown, "the database") for text in (error.what, error.hint))
    return type(error)(what, hint, **error.fields)


def headers(error: RowlockError) -> list[Header]:
    """What an error says in headers."""
    found: list[Header] = []
    if error.http_status == 503:
        found.append((b"retry-after", str(error.fields.get("retry_after", RETRY_AFTER)).encode()))
    if error.http_status == 401:
        found.append((b"www-authenticate", b'Bearer realm="rowlock"'))
    if "allow" in error.fields:
        found.append((b"allow", ", ".join(error.fields["allow"]).encode()))
    return found
