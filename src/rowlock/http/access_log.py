"""The access log: one JSON object to a line for each request, written a few at a time."""

import asyncio
import re
import time
from typing import TYPE_CHECKING, TextIO

import msgspec

if TYPE_CHECKING:
    from rowlock.http.call import Call

SECONDS = 0.2
_SECRET = re.compile(r"rl_[0-9A-Za-z]{36}")
NOT_TOLD = ("/livez", "/readyz")


class AccessLog:
    """Collects lines and writes them a few times a second: a request does not wait for the disk."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._lines: list[bytes] = []

    def note(self, call: "Call", *, status: int, sent: int, seconds: float) -> None:
        """Note one request."""
        path = call.scope["path"]
        if path in NOT_TOLD:
            return
        if not self._lines:
            asyncio.get_running_loop().call_later(SECONDS, self.flush)
        client = call.scope.get("client")
        line = {
            "at": round(time.time(), 3),
            "request": call.id.decode(),
            "client": client[0] if client else "",
            "method": call.method,
            # A token has no place in an address; where somebody put one, the log does not keep it.
            "path": _SECRET.sub("rl_…", path),
            "query": _SECRET.sub("rl_…", call.scope["query_string"].decode("latin-1")),
            "status": status,
            "bytes": sent,
            "ms": round(seconds * 1_000, 2),
        }
        self._lines.append(msgspec.json.encode(line))

    def flush(self) -> None:
        """Write what was noted."""
        lines, self._lines = self._lines, []
        if lines:
            try:
                self._to.write(b"\n".join(lines).decode() + "\n")
                self._to.flush()
            except (OSError, ValueError):  # nobody reads it; the service goes on
                return
