"""Runs the service with uvicorn, and shuts it down in steps: not ready, no new connections, closed."""

import asyncio
import ipaddress
import resource
import signal
import socket
import threading
from collections.abc import Callable

import msgspec
import uvicorn

from rowlock.api.server_limits import ServerLimits
from rowlock.engine import Engine
from rowlock.errors import Refused, Unavailable
from rowlock.http.protocol import protocol_factory
from rowlock.http.service import Service

DRAIN_SECONDS = 0.5
"""Time between being not ready and accepting no more connections, for load balancers that ask before each request."""
SHUTDOWN_SECONDS = 30
OWN_FILES = 200
"""Open files besides the connections of clients: connections to the database, spooled bodies, logs."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def within_files(limits: ServerLimits) -> ServerLimits:
    """Return limits that this process can keep: raise its limit on open files, or lower that on connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    own = OWN_FILES + limits.health_connections
    wanted = limits.connections + own
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        connections = max(1, min(limits.connections, soft - own))
        return msgspec.structs.replace(limits, connections=connections)
    return limits


def require_tokens(engine: Engine, host: str) -> None:
    """Refuse an address that other machines can reach, as long as there are no access tokens."""
    if not is_loopback(host) and not engine.tokens.page(limit=1):
        raise no_tokens(host, engine.database.address.option)


def no_tokens(host: str, option: str) -> Refused:
    """Return the error for an address that other machines can reach, without tokens; `option` names the database."""
    what = f"refusing to listen on {host} without access tokens"
    return Refused(what, f"make one: rowlock {option}token create --role admin; or serve on 127.0.0.1")


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError) as error:
        bound.close()
        reason = getattr(error, "strerror", None) or "invalid port"
        raise Unavailable(f"cannot listen on {host}:{port}: {reason.lower()}", "choose another with --port") from None
    return bound


class Server(uvicorn.Server):
    """uvicorn's server, with a shutdown in steps."""

    def __init__(
        self, service: Service, *, drain: float = DRAIN_SECONDS, started: Callable[[], None] = lambda: None
    ) -> None:
        self._service = service
        self._drain = drain
        self._on_started = started
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
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        super().__init__(config)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until SIGTERM or SIGINT, then return, so that the caller can close its engine.

        uvicorn would raise SIGTERM again after its shutdown, which ends the process at once.
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
        """Listen, then call `started`."""
        await super().startup(sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Become not ready, answer long polls, give load balancers a moment to see it, then shut down."""
        self._service.stop()
        if not self.force_exit:
            await asyncio.sleep(self._drain)
        await super().shutdown(sockets)
