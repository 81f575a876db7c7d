"""Checks of a request's head, before the application sees it."""

from collections.abc import Sequence

from rowlock.api.limits import ServerLimits
from rowlock.http.asgi import Header

HEALTH_PATHS = (b"/livez", b"/readyz")

Refusal = tuple[int, str]
"""A status and the text of the response."""


def check_head(headers: Sequence[Header], url: bytes, *, version: str, limits: ServerLimits) -> Refusal | None:
    """Return why a request is refused; None if it is valid and within the limits."""
    names = [name for name, _ in headers]
    if names.count(b"host") != 1 and version != "1.0":
        return 400, "error invalid-head: there must be one Host header (hint: send it once)"
    if b"transfer-encoding" in names and (version == "1.0" or not _is_chunked(headers)):
        return 400, "error invalid-head: unsupported Transfer-Encoding (hint: send chunked alone, or none)"
    if head_size(headers, url) > limits.header_bytes:
        return headers_too_large(limits.header_bytes)
    return None


def _is_chunked(headers: Sequence[Header]) -> bool:
    return [value.strip().lower() for name, value in headers if name == b"transfer-encoding"] == [b"chunked"]


def head_size(headers: Sequence[Header], url: bytes) -> int:
    """Return about how many bytes the request line and the headers have."""
    return len(url) + sum([len(name) + len(value) + 4 for name, value in headers])


def headers_too_large(max_bytes: int) -> Refusal:
    """Return the refusal of a head above the limit."""
    return 431, f"error too-large: the headers are larger than {max_bytes} bytes (hint: send fewer)"


def is_health_check(method: bytes, url: bytes) -> bool:
    """Return whether the request asks for the server's health, which is answered also when there is no room."""
    return method in (b"GET", b"HEAD") and url.partition(b"?")[0] in HEALTH_PATHS
