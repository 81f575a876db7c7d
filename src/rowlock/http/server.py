"""Running the service: a socket, uvicorn, and a gentle end: first not ready, then closed to new ones, then gone."""

import asyncio
import ipaddress
import resource
import signal
import socket
import threading
from collections.abc import Callable

import msgspec
import uvicorn

from rowlock.engine import Engine
from rowlock.errors import Refused, Unavailable
from rowlock.http.limits import ServerLimits
from rowlock.http.protocol import protocol_factory
from rowlock.http.service import Service

DRAIN = 0.5
"""Seconds between being not ready and taking no more connections: for who asks before each request."""
GRACE = 30
FILES_OF_OUR_OWN = 200
"""Open files besides those of clients: connections to the database, spooled bodies, logs."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def within_files(limits: ServerLimits) -> ServerLimits:
    """The bounds that this process can keep: as many open files as it may have, and connections no more than those."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ours = FILES_OF_OUR_OWN + limits.health_connections
    wanted = limits.connections + ours
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        connections = max(1, min(limits.connections, soft - ours))
        return msgspec.structs.replace(limits, connections=connections)
    return limits


def require_tokens(engine: Engine, host: str) -> None:
    """Refuse an address where anybody could come, as long as there is no token to tell people apart by."""
    if not is_loopback(host) and not engine.tokens.page(limit=1):
        raise no_tokens(host)


def no_tokens(host: str) -> Refused:
    """What to tell who would serve at such an address without any."""
    what = f"{host} can be reached from elsewhere, and there are no tokens to tell people apart"
    return Refused(what, "make one: rowlock token create --role admin; or serve on 127.0.0.1")


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or "it is no port"
        raise Unavailable(f"{host}:{port} cannot be had: {reason.lower()}", "choose another with --port") from None
    return found


class Server(uvicorn.Server):
    """uvicorn, with an end in steps."""

    def __init__(self, service: Service, *, drain: float = DRAIN, started: Callable[[], None] = lambda: None) -> None:
        self._service = service
        self._drain = drain
        self._tell_started = started
        config = uvicorn.Config(
            service,
            http=protocol_factory(service.limits),
            ws="none",
            lifespan="on",
            interface="asgi3",
            access_log=False,
            log_config=None,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=int(service.limits.idle_seconds),
            timeout_graceful_shutdown=GRACE,
        )
        super().__init__(config)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to go; then whoever called goes on, and closes what is theirs.

        uvicorn would raise SIGTERM once more when all is done, which ends the process on the spot.
        """
        if threading.current_thread() is not threading.main_thread():
            super().run(sockets)
            return
        before = signal.signal(signal.SIGTERM, self._stop)
        try:
            super().run(sockets)
        finally:
            signal.signal(signal.SIGTERM, before)

    def _stop(self, *_: object) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        self._tell_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Be not ready, answer who waits, give balancers a moment to see it, then end."""
        self._service.stop()
        if not self.force_exit:
            await asyncio.sleep(self._drain)
        await super().shutdown(sockets)
