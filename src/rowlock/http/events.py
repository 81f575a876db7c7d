"""The route of events: what happens to lists, told as it is recorded, in the manner of server-sent events."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import msgspec

from rowlock import tallies
from rowlock.api.service import EventsQuery
from rowlock.errors import InvalidQuery, Overloaded
from rowlock.http.call import Answer, Call
from rowlock.tallies import TallyRecord

POLL = 0.5
QUIET = 15.0
"""Seconds after which a silent stream says that it is alive."""
LATE = 10_000
"""Milliseconds for which a record may be on its way: numbers are given out before they are committed."""
MOST_WATCHERS = 100
PAGE = 256


class Follower:
    """Reads the record on from a number; each line of it once, also those that are committed late."""

    def __init__(self, after: int) -> None:
        self._floor = after
        self._told: dict[int, int] = {}

    async def news(self, call: Call) -> AsyncIterator[list[TallyRecord]]:
        """What has been recorded since it was last asked, some at a time: whoever reads slowly has not all of it."""
        after = self._floor
        while rows := await call.service.executor.read(tallies.records_after, after=after, limit=PAGE):
            fresh = [row for row in rows if row.id not in self._told]
            self._told.update((row.id, row.at) for row in rows)
            after = rows[-1].id
            self._forget()
            yield fresh

    def _forget(self) -> None:
        newest = max(self._told.values(), default=0)
        old = [number for number, at in self._told.items() if at < newest - LATE]
        self._floor = max(old, default=self._floor)
        self._told = {number: at for number, at in self._told.items() if number > self._floor}


async def events(call: Call) -> Answer:
    """What happens to lists from now on: one event for each batch that was added or settled.

    A client that comes back with Last-Event-ID is told what it missed, as far as ten minutes back.
    """
    service = call.service
    if service.watchers >= MOST_WATCHERS:
        raise Overloaded(f"{service.watchers} watch already", "try again later")
    service.long_polls.check(call.client)
    after = _given(call)
    if after is None:
        after = await service.executor.read(tallies.last_id)
    return Answer(stream=_tell(call, Follower(after)), live=True)


def _given(call: Call) -> int | None:
    query: EventsQuery = call.query
    last = call.header(b"last-event-id")
    if last and not last.isdecimal():
        raise InvalidQuery(f"the Last-Event-ID {last[:40]!r} is none of ours", "give back what was given, or nothing")
    return int(last) if last else query.after


async def _tell(call: Call, follower: Follower) -> AsyncIterator[bytes]:
    service = call.service
    quiet = 0.0
    with call.long_poll(), _watching(call) as left:
        yield b"retry: 2000\n\n"
        while not service.stopping and not left.done():
            await service.recheck(call)
            quiet += POLL
            async for fresh in follower.news(call):
                if told := b"".join(_event(row) for row in fresh if _wanted(call, row)):
                    await service.recheck(call)  # it may have waited for hours
                    quiet = 0.0
                    yield told
            if quiet >= QUIET:
                quiet = 0.0
                yield b": nothing new\n\n"
            await asyncio.wait([left], timeout=POLL)


@contextmanager
def _watching(call: Call) -> Iterator["asyncio.Future[None]"]:
    """Count one more who watches; the future is done when the client has gone."""
    left = asyncio.ensure_future(call.body.left_or_silent())
    call.service.watchers += 1
    try:
        yield left
    finally:
        call.service.watchers -= 1
        left.cancel()


def _wanted(call: Call, row: TallyRecord) -> bool:
    query: EventsQuery = call.query
    return row.list.startswith(query.list) and call.principal.may_touch(row.list)


def _event(row: TallyRecord) -> bytes:
    return b"id: %d\nevent: tally\ndata: %b\n\n" % (row.id, msgspec.json.encode(row))
