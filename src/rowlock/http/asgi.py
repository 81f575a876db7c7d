"""ASGI types, and the extension by which our own server takes a whole response in one message.

The start and the body of a response are two messages, two checks of each header and two writes to the socket: a third
of what a small response costs. Other servers get the two messages.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any
from urllib.parse import quote, unquote_to_bytes

Header = tuple[bytes, bytes]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Any, Any], Awaitable[None]]

EXTENSION = "rowlock.response"
"""The extension's name in `scope["extensions"]`, and the type of the message that it adds.

The message has `status`, `headers`, `body`, and `confirm`: whether `send` raises `ClientDisconnected` if the client
cannot have received the response. The extension is a dict whose `half_closed` becomes True when the client has closed
its sending side: it may be gone, or still read.
"""
LARGE_BODY_BYTES = 256 * 1024
"""Bodies above this size are not copied, and are held until the client has read most of them."""

COMMON_HEADERS: tuple[Header, ...] = (
    (b"cache-control", b"no-store"),
    (b"vary", b"accept, accept-encoding"),
    (b"x-content-type-options", b"nosniff"),
)


class ClientDisconnected(OSError):
    """The client disconnected before it can have received the response."""


def is_half_closed(scope: Mapping[str, Any]) -> bool:
    """Return whether the client has closed its sending side; always False on servers that do not tell."""
    extension = scope.get("extensions", {}).get(EXTENSION)
    return extension is not None and extension["half_closed"]


def split_root_path(scope: Mapping[str, Any]) -> tuple[str, bytes]:
    """Return the prefix that the service is mounted under, percent-encoded, and the raw path below it.

    The path of a scope contains the prefix, unless a proxy has removed it.
    """
    raw_path: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    root_path = scope.get("root_path", "").rstrip("/")
    if not root_path:
        return "", raw_path
    depth = root_path.count("/")
    *prefix, rest = raw_path.split(b"/", depth + 1)
    if unquote_to_bytes(b"/".join(prefix)) == root_path.encode():
        raw_path = b"/" + rest
    elif unquote_to_bytes(raw_path) == root_path.encode():
        raw_path = b"/"
    return quote(root_path), raw_path


async def send_response(
    scope: Mapping[str, Any],
    send: Send,
    *,
    status: int,
    headers: Sequence[Header],
    body: bytes,
    confirm: bool = False,
) -> None:
    """Send a whole response, in one message where the server takes it.

    With `confirm`, raise ClientDisconnected if the server knows that the client did not receive it.
    """
    if EXTENSION in scope.get("extensions", ()):
        await send({"type": EXTENSION, "status": status, "headers": headers, "body": body, "confirm": confirm})
        return
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
