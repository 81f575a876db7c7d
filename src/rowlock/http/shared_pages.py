"""Pages that open tabs read again: tabs that show the same page share one copy, and all together have a budget."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable

import msgspec

from rowlock.http.responses import Response

SHARED_SECONDS = 1.0
"""How old a shared copy may be, and how often an open page is refreshed at most."""
MAX_SECONDS = 10.0
"""How often it is refreshed at least while something changes."""
MAX_SHARE = 0.02
"""The share of the time that all open pages together may take to be made."""
KNOWN_SECONDS = 30.0
"""How long the cost of a page counts after it was made."""


class SharedPage(msgspec.Struct):
    """A page that is being made or was made."""

    response: "asyncio.Future[Response]"
    made_at: float
    seconds: float = 0.0
    """How long it took to be made."""


class SharedPages:
    """The copies of one service, by what they show and to whom."""

    def __init__(self) -> None:
        self._pages: dict[Hashable, SharedPage] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[Response]]) -> Response:
        """Return the copy of this key if it is at most a second old, else make one; many callers wait for one copy."""
        now, known = time.monotonic(), self._pages.get(key)
        if known is not None and now - known.made_at < SHARED_SECONDS:
            return await asyncio.shield(known.response)
        self._pages = {each: page for each, page in self._pages.items() if now - page.made_at < KNOWN_SECONDS}
        page = self._pages[key] = SharedPage(asyncio.ensure_future(make()), now, known.seconds if known else 0.0)
        try:
            response = await asyncio.shield(page.response)
        except BaseException:
            if self._pages.get(key) is page:
                del self._pages[key]
            raise
        page.seconds = time.monotonic() - now
        return response

    @property
    def interval_seconds(self) -> float:
        """The time between two refreshes with which all open pages stay within their share."""
        seconds = sum(page.seconds for page in self._pages.values())
        return min(max(SHARED_SECONDS, seconds / MAX_SHARE), MAX_SECONDS)
