"""Replies: an answer that is whole, written at once where the server lets us; elsewhere as ASGI says.

Two messages, each header looked at twice and two writes to the socket are a third of what a small answer costs.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rowlock.http.exchanges import EXTENSION, Exchange, Header

Send = Callable[[dict[str, Any]], Awaitable[None]]

ALWAYS: tuple[Header, ...] = (
    (b"cache-control", b"no-store"),
    (b"vary", b"accept, accept-encoding"),
    (b"x-content-type-options", b"nosniff"),
)
COMMON = b"".join(b"%b: %b\r\n" % header for header in ALWAYS)


async def send_whole(
    scope: Any, send: Send, *, status: int, headers: Sequence[Header], body: bytes, bare: bool = False
) -> None:
    """Send a whole answer; a `bare` one has no headers but its own."""
    exchange: Exchange | None = scope.get("extensions", {}).get(EXTENSION)
    if exchange is not None:
        await exchange.reply(status=status, headers=headers, body=body, common=b"" if bare else COMMON)
        return
    all_of_them = headers if bare else [*ALWAYS, *headers]
    await send({"type": "http.response.start", "status": status, "headers": all_of_them})
    await send({"type": "http.response.body", "body": body})
