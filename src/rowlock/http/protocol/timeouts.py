"""Bounds on connections: how many there are, and how long each may keep the server waiting.

Each connection says what it waits for; one sweep a second over all of them costs less than a timer for each.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

from rowlock.api.server_limits import ServerLimits

if TYPE_CHECKING:
    from rowlock.http.protocol.http_protocol import HTTPProtocol

SWEEP_SECONDS = 1.0
LINGER_SECONDS = 5.0
"""How long input is read and dropped after the server has closed its sending side."""
SHUTDOWN_READ_SECONDS = 3.0
"""How long clients may leave responses unread when the server shuts down."""
NO_ROOM = "error overloaded: too many connections (hint: try again in a moment)"


class Phase(Enum):
    """What a connection waits for."""

    HEADERS = "the request line and the headers of a request"
    BODY = "the body of a request"
    RESPONSE = "the application"
    IDLE = "another request"
    LINGERING = "the client to close, after the server has closed its sending side"
    CLOSING = "the client to read the last response"


ENDING = (Phase.LINGERING, Phase.CLOSING)
"""Phases that no other phase follows."""


class Timeouts:
    """Admits the connections of a server, and closes those that wait too long for their client."""

    def __init__(self, limits: ServerLimits) -> None:
        self.limits = limits
        self.now = 0.0
        """The loop's time at the last sweep: exact enough, and free."""
        self._reading_seconds = limits.reading_seconds
        self._connections: set[HTTPProtocol] = set()
        self._per_address: Counter[str] = Counter()
        self._health_only: set[HTTPProtocol] = set()
        """Connections beyond the limits, which may ask for health alone."""
        self._sweeping: asyncio.TimerHandle | None = None
        self._stalled: dict[HTTPProtocol, tuple[float, int]] = {}
        """Connections whose client leaves a response unread: since when, and how many bytes it had read then."""

    def admit(self, connection: "HTTPProtocol") -> bool:
        """Admit a connection, if need be in place of one that waits for its client; False if there is no room.

        A connection beyond the limits may still ask for health.
        """
        limits, address, everyone = self.limits, connection.address, self._connections
        is_crowded = self._per_address[address] >= limits.connections_per_address
        has_room = not is_crowded or _make_room(each for each in everyone if each.address == address)
        if has_room and (len(everyone) < limits.connections or _make_room(everyone)):
            everyone.add(connection)
            self._per_address[address] += 1
        elif len(self._health_only) < limits.health_connections or _make_room(self._health_only):
            self._health_only.add(connection)
            connection.health_only = True
        else:
            return False
        if self._sweeping is None:
            self.now = connection.loop.time()
            self._sweeping = connection.loop.call_later(SWEEP_SECONDS, self._sweep, connection.loop)
        return True

    def remove(self, connection: "HTTPProtocol") -> None:
        """Forget a connection that has ended."""
        self._health_only.discard(connection)
        self._stalled.pop(connection, None)
        if connection in self._connections:
            self._connections.remove(connection)
            self._per_address[connection.address] -= 1
            if not self._per_address[connection.address]:
                del self._per_address[connection.address]

    def hurry(self) -> None:
        """Shorten the read timeout of all connections for shutdown."""
        self._reading_seconds = min(self.limits.reading_seconds, SHUTDOWN_READ_SECONDS)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self.now = loop.time()
        allowed_seconds = {
            Phase.HEADERS: self.limits.header_seconds,
            Phase.BODY: self.limits.body_seconds,
            Phase.RESPONSE: math.inf,
            Phase.IDLE: self.limits.idle_seconds,
            Phase.LINGERING: LINGER_SECONDS,
            Phase.CLOSING: self._reading_seconds,
        }
        for connection in (*self._connections, *self._health_only):
            if self._is_stalled(connection):
                connection.abort()
            elif self.now - connection.phase_since > allowed_seconds[connection.phase]:
                self._end(connection)
        is_needed = self._connections or self._health_only
        self._sweeping = loop.call_later(SWEEP_SECONDS, self._sweep, loop) if is_needed else None

    def _end(self, connection: "HTTPProtocol") -> None:
        """End a connection that has waited too long for its client, unless a body arrives fast enough."""
        phase, cycle = connection.phase, connection.cycle
        least_bytes = self.limits.body_rate * (self.now - connection.phase_since)
        if phase in (Phase.IDLE, Phase.LINGERING):
            connection.close()
        elif phase is Phase.HEADERS and connection.head_bytes:
            connection.refuse(408, "error too-slow: the headers took too long (hint: send them at once)")
        elif phase is Phase.BODY and (connection.flow.read_paused or connection.body_bytes >= least_bytes):
            connection.enter(Phase.BODY)
        elif phase is Phase.BODY and not (cycle is not None and cycle.response_complete):
            connection.refuse(408, "error too-slow: the body took too long (hint: send it faster, or in parts)")
        else:
            connection.abort()  # the client has sent nothing, or has its response, or does not read it

    def _is_stalled(self, connection: "HTTPProtocol") -> bool:
        """Return whether the client has for too long read its response at less than the minimum rate."""
        if not connection.flow.write_paused:
            self._stalled.pop(connection, None)
            return False
        read_bytes = connection.written_bytes - connection.transport.get_write_buffer_size()
        since, read_then = self._stalled.setdefault(connection, (self.now, read_bytes))
        if read_bytes - read_then >= self.limits.body_rate * (self.now - since):
            self._stalled[connection] = (self.now, read_bytes)
            return False
        return self.now - since > self._reading_seconds


def _make_room(among: "Iterable[HTTPProtocol]") -> bool:
    """Abort the connection that waits longest for its client; False if no connection waits."""
    phases = (Phase.HEADERS, Phase.IDLE, Phase.LINGERING)
    waiting = [each for each in among if each.phase in phases]
    if waiting:
        min(waiting, key=lambda each: (phases.index(each.phase), each.phase_since)).abort()
    return bool(waiting)
