"""Problems: errors as documents (RFC 9457), as lines of text, and as headers."""

from typing import Any

from rowlock.engine import Engine
from rowlock.errors import NoSuchPath, NotFound, RowlockError, WrongMethod
from rowlock.http.asgi import Header

DOCS = "https://rowlock.dev/docs/reference/errors#"
TYPE = b"application/problem+json"
RETRY_AFTER_SECONDS = 1


def problem(error: RowlockError, request: str = "") -> dict[str, Any]:
    """Return the document that describes an error."""
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
    """Return an error as one line of text."""
    hint = f" (hint: {error.hint})" if error.hint else ""
    return " ".join(f"error {error.code}: {error.what}{hint}".split()) + "\n"


def iidy_message(error: RowlockError) -> str:
    """Return an error as IIDY writes it."""
    match error:
        case WrongMethod():
            return "Method Not Allowed"
        case NoSuchPath():
            return "404 page not found"
        case NotFound():
            return "Not found."
        case _:
            return error.what


def without_address(error: RowlockError, engine: Engine) -> RowlockError:
    """Return the error without the address of the database, which clients need not know."""
    shown = engine.database.address.shown
    if shown not in error.what and shown not in error.hint:
        return error
    what, hint = (text.replace(shown, "the database") for text in (error.what, error.hint))
    return type(error)(what, hint, **error.fields)


def headers(error: RowlockError) -> list[Header]:
    """Return the headers of the response that describes an error."""
    found: list[Header] = []
    if error.http_status == 503:
        found.append((b"retry-after", str(error.fields.get("retry_after", RETRY_AFTER_SECONDS)).encode()))
    if error.http_status == 401:
        found.append((b"www-authenticate", b'Bearer realm="rowlock"'))
    if "allow" in error.fields:
        found.append((b"allow", ", ".join(error.fields["allow"]).encode()))
    return found
