"""The stream of events: what happens to lists, as server-sent events, as soon as it is recorded."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from rowlock import tallies
from rowlock.api.service import EventsQuery
from rowlock.errors import InvalidQuery, Overloaded
from rowlock.http.requests import Request
from rowlock.http.responses import Response
from rowlock.tallies import TallyRecord

POLL_SECONDS = 0.5
KEEPALIVE_SECONDS = 15.0
LATE_MILLISECONDS = 10_000
"""How long a record may take to commit: numbers are given out before."""
MAX_WATCHERS = 100
PAGE_ROWS = 256


class Follower:
    """Reads the records after a number, each once, also those that are committed late."""

    def __init__(self, after: int) -> None:
        self._floor = after
        self._seen: dict[int, int] = {}
        """The time of each record above the floor that was read."""

    async def new_records(self, request: Request) -> AsyncIterator[list[TallyRecord]]:
        """Yield what was recorded since the last call, a page at a time: a client may read slowly."""
        after = self._floor
        while rows := await request.executor.read(tallies.records_after, after=after, limit=PAGE_ROWS):
            fresh = [row for row in rows if row.id not in self._seen]
            self._seen.update((row.id, row.at) for row in rows)
            after = rows[-1].id
            newest = max(self._seen.values())
            old = [number for number, at in self._seen.items() if at < newest - LATE_MILLISECONDS]
            self._floor = max(old, default=self._floor)
            self._seen = {number: at for number, at in self._seen.items() if number > self._floor}
            yield fresh


async def events(request: Request) -> Response:
    """Stream what happens to lists from now on: one event for each batch that was added or settled.

    A client that reconnects with Last-Event-ID gets what it missed, of up to ten minutes.
    """
    service, query = request.service, request.query
    if service.watchers >= MAX_WATCHERS:
        raise Overloaded(f"{service.watchers} clients follow the events already", "try again later")
    service.long_polls.check(request.client_host)
    last, after = request.header(b"last-event-id"), query.after
    if last:
        if not last.isdecimal():
            raise InvalidQuery(f"Last-Event-ID must be a number, got {last[:40]!r}", "send the last id, or none")
        after = int(last)
    if after is None:
        after = await request.executor.read(tallies.last_id)
    return Response(stream=_stream(request, Follower(after)), live=True)


async def _stream(request: Request, follower: Follower) -> AsyncIterator[bytes]:
    service, silent_seconds = request.service, 0.0
    with request.long_poll_slot():
        disconnect = asyncio.ensure_future(request.wait_for_half_close())
        service.watchers += 1
        try:
            yield b"retry: 2000\n\n"
            while not service.stopping and not disconnect.done():
                await service.reauthorize(request)
                silent_seconds += POLL_SECONDS
                async for records in follower.new_records(request):
                    if written := b"".join(_event(row) for row in records if _is_wanted(request, row)):
                        await service.reauthorize(request)  # the client may have read nothing for hours
                        silent_seconds = 0.0
                        yield written
                if silent_seconds >= KEEPALIVE_SECONDS:
                    silent_seconds = 0.0
                    yield b": nothing new\n\n"
                await asyncio.wait([disconnect], timeout=POLL_SECONDS)
        finally:
            service.watchers -= 1
            disconnect.cancel()


def _is_wanted(request: Request, row: TallyRecord) -> bool:
    query: EventsQuery = request.query
    return row.list.startswith(query.list) and request.principal.may_touch(row.list)


def _event(row: TallyRecord) -> bytes:
    return b"id: %d\nevent: tally\ndata: %b\n\n" % (row.id, msgspec.json.encode(row))
