"""Replies: an answer that is whole, written at once where the server lets us; elsewhere as ASGI says.

Two messages, each header looked at twice and two writes to the socket are a third of what a small answer costs.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

EXTENSION = "rowlock.reply"

ALWAYS: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"vary", b"accept, accept-encoding"),
    (b"x-content-type-options", b"nosniff"),
)
_ALWAYS = b"".join(b"%b: %b\r\n" % header for header in ALWAYS)

Send = Callable[[dict[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]


class Reply:
    """Writes the whole answer to one request."""

    __slots__ = ("_cycle", "silent")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self.silent = False
        """Whether the client has closed its side; it may still listen."""

    async def __call__(self, status: int, headers: Sequence[Header], body: bytes, *, common: bytes = _ALWAYS) -> None:
        """Write it, unless the client has gone."""
        cycle = self._cycle
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        cycle.response_started, cycle.waiting_for_100_continue = True, False
        cycle.transport.write(self._written(status, headers, body, common=common))
        cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()

    def _written(self, status: int, headers: Sequence[Header], body: bytes, *, common: bytes) -> bytes:
        cycle = self._cycle
        lines = [b"%b: %b\r\n" % header for header in (*cycle.default_headers, *headers)]
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise RuntimeError("a header holds the end of a line")
        close = b"" if cycle.keep_alive else b"connection: close\r\n"
        shown = b"" if cycle.scope["method"] == "HEAD" else body
        return b"".join((STATUS_LINE[status], head, common, close, b"\r\n", shown))


async def send_whole(
    scope: Any, send: Send, *, status: int, headers: Sequence[Header], body: bytes, bare: bool = False
) -> None:
    """Send a whole answer; a `bare` one has no headers but its own."""
    reply: Reply | None = scope.get("extensions", {}).get(EXTENSION)
    if reply is not None:
        await reply(status, headers, body, common=b"" if bare else _ALWAYS)
        return
    all_of_them = headers if bare else [*ALWAYS, *headers]
    await send({"type": "http.response.start", "status": status, "headers": all_of_them})
    await send({"type": "http.response.body", "body": body})
