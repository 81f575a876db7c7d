"""The guard before the first route: clients that are too slow, too many or too talkative are cut off.

Each connection tells what it is waiting for, and one look a second ends what waits too long.
"""

import asyncio
from collections import defaultdict
from enum import Enum
from typing import Any, ClassVar

from rowlock.http.connections import Connection, Outbox
from rowlock.http.exchanges import Exchange
from rowlock.http.limits import MB, ServerLimits

LOOK = 1.0
FRAMING = 16
"""How many bytes of a chunked body may say where its chunks begin, for each that is in them."""
DISCARDED = 8 * MB
"""How much of a body that was refused is still read, so that its sender reads the answer."""
PARTING = 5.0
"""Seconds for which it is."""
HURRY = 3.0
"""Seconds for which answers may lie unread when the server ends."""


HEALTH_PATHS = (b"/livez", b"/readyz")
"""What is answered also to clients for which there is no room."""
FULL = "error overloaded: too many connections (hint: try again in a moment)"


class Phase(Enum):
    """What a connection waits for."""

    HEAD = "the first line and the headers of a request"
    BODY = "the body of a request"
    ANSWER = "us"
    IDLE = "another request"
    PARTING = "the client to hang up"
    GOING = "what is written to leave"


ENDS = (Phase.PARTING, Phase.GOING)
"""After these comes no other."""


class Guard:
    """Knows all connections of a server; decides who comes in and who has had time enough."""

    def __init__(self, limits: ServerLimits) -> None:
        self.limits = limits
        self.reading_seconds = limits.reading_seconds
        self._connections: dict[str, set[GuardedConnection]] = defaultdict(set)
        self._for_health: set[GuardedConnection] = set()
        """Connections beyond the bounds, which are answered about health alone."""
        self._count = 0
        self._looking: asyncio.TimerHandle | None = None
        self.now = 0.0
        """The loop's time, as of the last look: exact enough for patience, and free."""

    def admit(self, connection: "GuardedConnection") -> bool:
        """Let a connection in, if need be in the place of one that waits for its client; False if there is none.

        One for which there is no room may still ask about health.
        """
        if self._has_room(connection.address):
            self._connections[connection.address].add(connection)
            self._count += 1
        elif len(self._for_health) < self.limits.health_connections or self._make_room(self._for_health):
            self._for_health.add(connection)
            connection.is_for_health = True
        else:
            return False
        if self._looking is None:
            self.now = connection.loop.time()
            self._looking = connection.loop.call_later(LOOK, self._look, connection.loop)
        return True

    def _has_room(self, address: str) -> bool:
        """Whether there is room for one more of that address, also if it has to be made."""
        neighbours = self._connections.get(address, set())
        if len(neighbours) >= self.limits.connections_per_address and not self._make_room(neighbours):
            return False
        return self._count < self.limits.connections or self._make_room(set().union(*self._connections.values()))

    def _make_room(self, among: "set[GuardedConnection]") -> bool:
        for phase in (Phase.HEAD, Phase.IDLE, Phase.PARTING):
            waiting = [each for each in among if each.phase is phase]
            if waiting:
                min(waiting, key=lambda each: each.since).cut()
                return True
        return False

    def dismiss(self, connection: "GuardedConnection") -> None:
        """Forget a connection."""
        self._for_health.discard(connection)
        neighbours = self._connections.get(connection.address, set())
        if connection in neighbours:
            neighbours.remove(connection)
            self._count -= 1
            if not neighbours:
                del self._connections[connection.address]

    def hurry(self) -> None:
        """The server ends: who does not read holds it up no longer than that."""
        self.reading_seconds = min(self.limits.reading_seconds, HURRY)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = self.now = loop.time()
        for connection in [each for some in (*self._connections.values(), self._for_health) for each in some]:
            connection.look(now)
        self._looking = loop.call_later(LOOK, self._look, loop) if self._count or self._for_health else None


class GuardedConnection(Connection):
    """One connection, watched."""

    guard: ClassVar[Guard]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.phase = Phase.HEAD
        self.since = 0.0
        self.address = ""
        self.is_for_health = False
        """Whether it came when there was no room: it is answered once, and about health alone."""
        self._head = 0
        self._piece = 0
        self._got = 0
        self._discarded = 0
        self._framed = 0
        self._body = 0
        self._is_silent = False
        self._is_new = False
        self._unread_since: float | None = None
        self._taken = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Come in, or be told that there is no room."""
        super().connection_made(transport)
        self.address = self.client
        if not self.guard.admit(self):
            self.refuse(503, FULL)
            self.close()  # nor is there room to wait until it has gone
        self.since = self.guard.now

    def connection_lost(self, exc: Exception | None) -> None:
        """Be forgotten: another one may come."""
        self.guard.dismiss(self)
        super().connection_lost(exc)

    def cut(self) -> None:
        """The same at once."""
        self.guard.dismiss(self)
        super().cut()

    def close(self) -> None:
        """Be watched until the last byte has left."""
        if self.phase is not Phase.GOING:
            self._wait(Phase.GOING)
        super().close()

    def part(self) -> None:
        """Be watched until the client has gone too."""
        self._wait(Phase.PARTING)
        self._discarded = 0
        super().part()

    def shutdown(self) -> None:
        """The same for all, and soon."""
        self.guard.hurry()
        super().shutdown()

    def data_received(self, data: bytes) -> None:
        """Bytes have come: of a head no more than is read, of what follows a last word not much."""
        if self.transport.is_closing():
            return
        if self.phase is Phase.PARTING:
            self._discarded += len(data)
            if self._discarded > DISCARDED:
                self.close()
            return
        if self.phase is Phase.IDLE:
            self._head = 0
        self._piece = len(data)
        self._is_new = False
        framed, self._framed = self.phase is Phase.BODY, self._framed + len(data)
        super().data_received(data)
        if framed and self.phase is Phase.BODY and self._framed > self.guard.limits.header_bytes + FRAMING * self._body:
            self.refuse(413, "error too-large: the body is mostly framing (hint: send larger chunks)")
        elif self.phase is Phase.HEAD:
            # Of what came with the end of a body only so much is known to be head as has been read of it.
            self._head = self._head_read() if self._is_new else self._head + len(data)
            if self._head > self.guard.limits.header_bytes:
                self.refuse(431, "error too-large: the headers are too large (hint: send fewer)")

    def on_message_begin(self) -> None:
        """A request begins."""
        self._wait(Phase.HEAD)
        self._is_new = True
        self._discarded = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; what follows a body is none, whatever it is called: nobody has looked at it who should have."""
        if self.phase is Phase.HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Its head is there."""
        most = self.guard.limits.header_bytes
        # What came with it may be body: only if all of it together is much is it worth counting.
        much = self._head + self._piece > most
        self._head = 0
        self._wait(Phase.BODY)
        self._framed = self._body = 0
        if self.is_deaf:
            return
        names = [name for name, _ in self.headers]
        if names.count(b"host") != 1 and self.parser.get_http_version() != "1.0":
            self.refuse(400, "error invalid-head: there must be one Host header (hint: send it once)")
        elif b"transfer-encoding" in names and not self._is_chunked():
            self.refuse(400, "error invalid-head: a body comes plain or in chunks (hint: leave out other codings)")
        elif much and self._head_read() > most:
            self.refuse(431, "error too-large: the headers are too large (hint: send fewer)")
        elif self.is_for_health and not self._asks_about_health():
            self.refuse(503, FULL)
        else:
            super().on_headers_complete()
            if self.exchange is not None and self.is_for_health:
                self.exchange.is_last = True

    def _asks_about_health(self) -> bool:
        return self.parser.get_method() in (b"GET", b"HEAD") and self.url.partition(b"?")[0] in HEALTH_PATHS

    def _is_chunked(self) -> bool:
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        return codings == [b"chunked"] and self.parser.get_http_version() != "1.0"

    def _head_read(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def on_body(self, body: bytes) -> None:
        """Some of its body is there; of one that was answered before its end, only so much is still read."""
        self._got += len(body)
        self._body += len(body)
        if self.transport.is_closing():
            return
        if self.exchange is not None and self.exchange.answered:
            self._discarded += len(body)
            if self._discarded > DISCARDED:
                self.cut()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it is there: now the client waits for us."""
        if self.transport.is_closing():
            return
        self._wait(Phase.IDLE if self.exchange is None or self.exchange.answered else Phase.ANSWER)
        super().on_message_complete()

    def ended(self, exchange: Exchange) -> None:
        """It is answered: the next that waits, or another one if it comes in time."""
        if self.phase is Phase.ANSWER and exchange is self.exchange:
            self._wait(Phase.IDLE)
        super().ended(exchange)
        if self._is_silent and exchange is self.exchange:
            self.close()

    def eof_received(self) -> bool:
        """The client says no more: it may still wait for the answer to what it has said."""
        super().eof_received()
        exchange = self.exchange
        listens = exchange is not None and not exchange.answered and not exchange.more_body
        self._is_silent = listens and not self.has_parted
        if exchange is not None and self._is_silent:
            exchange.silent = True
            # Who only waits for what may come is told, and leaves: it looks the same as a client that is gone.
            exchange.tell()
        return self._is_silent

    def _wait(self, phase: Phase) -> None:
        if self.phase not in ENDS or phase in ENDS:
            self.phase, self.since, self._got = phase, self.guard.now, 0

    def look(self, now: float) -> None:
        """End what waits too long for its client."""
        limits = self.guard.limits
        waited = now - self.since
        if self._is_unread(now) or (self.phase is Phase.GOING and waited > self.guard.reading_seconds):
            self.cut()
        elif (self.phase is Phase.IDLE and waited > limits.idle_seconds) or (
            self.phase is Phase.PARTING and waited > PARTING
        ):
            self.close()
        elif self.phase is Phase.HEAD and waited > limits.header_seconds:
            if not self._head:
                self.cut()  # it has said nothing, and is told nothing
                return
            self.refuse(408, "error too-slow: the headers took too long (hint: send them at once)")
        elif self.phase is Phase.BODY and waited > limits.body_seconds:
            if not self.is_reading or self._got >= limits.body_rate * waited:
                self.since, self._got = now, 0
            elif self.exchange is not None and self.exchange.answered:
                self.cut()  # it was answered before its end, and is told nothing more
            else:
                self.refuse(408, "error too-slow: the body took too long (hint: send it faster, or in parts)")

    def _is_unread(self, now: float) -> bool:
        """Whether the client has for too long read less of its answer than it would have to."""
        since, limits = self._unread_since, self.guard.limits
        if not self.is_full:
            self._unread_since = None
        elif since is None or self.taken - self._taken >= limits.body_rate * (now - since):
            self._unread_since, self._taken = now, self.taken
        return self._unread_since is not None and now - self._unread_since > self.guard.reading_seconds


def guarded(limits: ServerLimits) -> type[GuardedConnection]:
    """The protocol of a server with these bounds."""
    return type("GuardedConnection", (GuardedConnection,), {"guard": Guard(limits), "outbox": Outbox()})
