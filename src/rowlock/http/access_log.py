"""The access log: one line of JSON for each request, written a few at a time."""

import asyncio
import re
import time
from typing import TYPE_CHECKING, TextIO

import msgspec

if TYPE_CHECKING:
    from rowlock.http.call import Call

FLUSH_SECONDS = 0.2
_SECRET = re.compile(r"rl_[0-9A-Za-z]{36}")
NOT_LOGGED = ("/livez", "/readyz")


class AccessLog:
    """Collects lines and writes them a few times a second, so that no request waits for the disk."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._lines: list[bytes] = []

    def note(self, call: "Call", *, status: int, sent: int, seconds: float) -> None:
        """Log one request."""
        path = call.scope["path"]
        if path in NOT_LOGGED:
            return
        if not self._lines:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        client = call.scope.get("client")
        line = {
            "at": round(time.time(), 3),
            "request": call.id.decode(),
            "client": client[0] if client else "",
            "method": call.method,
            # A token does not belong in a URL; if a client puts one there, the log must not keep it.
            "path": _SECRET.sub("rl_…", path),
            "query": _SECRET.sub("rl_…", call.scope["query_string"].decode("latin-1")),
            "status": status,
            "bytes": sent,
            "ms": round(seconds * 1_000, 2),
        }
        self._lines.append(msgspec.json.encode(line))

    def flush(self) -> None:
        """Write the collected lines."""
        lines, self._lines = self._lines, []
        if lines:
            try:
                self._to.write(b"\n".join(lines).decode() + "\n")
                self._to.flush()
            except (OSError, ValueError):  # the reader of the log is gone; the service goes on
                return
