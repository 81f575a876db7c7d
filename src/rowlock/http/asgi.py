"""ASGI types, and the extension by which our own server takes a whole response in one message.

The start and the body of a response are two messages, two checks of each header and two writes to the socket: a third
of what a small response costs. Other servers get the two messages.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

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


class ClientDisconnected(OSError):
    """The client disconnected before it sent the whole request, or can have received the response."""
