"""A client: what an engine offers, by asking a server over HTTP."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

from rowlock.client import worker_sync
from rowlock.client.caller import Caller
from rowlock.client.tokens import RemoteTokens
from rowlock.client.transport import Terms, Transport
from rowlock.db import BoundVerb
from rowlock.db.database import Verb
from rowlock.durations import Duration
from rowlock.engine import Session
from rowlock.engine.handles import Handles
from rowlock.engine.runner import Runner, Writer
from rowlock.engine.settings_cache import SETTINGS_SECONDS
from rowlock.environment import REAL_ENVIRONMENT, Environment
from rowlock.errors import NeedsDatabase
from rowlock.lists import PollResult
from rowlock.upkeep import UpkeepReport

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8642"
TIMEOUT, PATIENCE = 60.0, 30.0


class RemoteSession(Session):
    """A live worker on another machine than its database: the server searches lists, and settings are cached."""

    _server_searches = True
    _settings_seconds = SETTINGS_SECONDS


class Client(Handles):
    """Lists on another machine: the handles of an `Engine`, by asking the server at `url`.

    Without them address and token come from ROWLOCK_SERVER and ROWLOCK_TOKEN. Nothing is sent before the first verb.
    `options` are those of `httpx2.Client`: `verify`, `cert`, `proxy`.
    """

    _session_kind = RemoteSession

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout: float = TIMEOUT,
        patience: float = PATIENCE,
        environment: Environment = REAL_ENVIRONMENT,
        **options: Any,
    ) -> None:
        address = url or os.environ.get("ROWLOCK_SERVER") or DEFAULT_URL
        shown = token or os.environ.get("ROWLOCK_TOKEN") or None
        self.environment = environment
        self._transport = Transport(address, shown, Terms(timeout, patience, environment, options))
        self._caller = Caller(self._transport)
        self._tokens = RemoteTokens(self._caller)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.server!r})"

    @property
    def server(self) -> str:
        """The address of the server."""
        return self._transport.server

    @property
    def tokens(self) -> RemoteTokens:
        """The access tokens of the server."""
        return self._tokens

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Have a verb that writes run by the server; again if nothing was heard, which does no harm.

        NeedsDatabase if no request says the same.
        """
        return self._caller.run(verb, *args, **kwargs)

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Have a verb that only reads run by the server."""
        return self._caller.run(verb, *args, **kwargs)

    def transaction(self) -> NoReturn:
        """Refused: your rows and ours can only commit together where the database is."""
        raise NeedsDatabase("a transaction cannot be had over HTTP", "use an Engine, where the database is")

    def join(self, using: Any) -> Runner:  # noqa: ARG002
        """Refused: a transaction of yours is not the server's."""
        raise NeedsDatabase(
            "a transaction cannot travel to a server: using= is for an Engine", "add where the database is"
        )

    def pipeline(self, *works: Callable[..., Any]) -> list[Any]:
        """Settle whole claims and claim in one request, as a worker asks it; the answers, in order."""
        return worker_sync.pipeline(self._transport, cast("tuple[BoundVerb, ...]", works))

    def look(self, session: str, *, wait: float = 0.0) -> PollResult:
        """Which lists may have work, of those that a session seeks; with `wait`, as soon as there are some in time."""
        return worker_sync.look(self._transport, session, wait=wait)

    def upkeep(self, *, wait: Duration = 0) -> UpkeepReport:  # noqa: ARG002
        """Do nothing, and report that: a server does its own upkeep."""
        return UpkeepReport()

    @contextmanager
    def dedicated_connection(self) -> Iterator[Writer]:
        """The same server by a connection of its own, for what must not wait until others are done."""
        transport = self._transport.twin()
        try:
            yield Caller(transport)
        finally:
            transport.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()
