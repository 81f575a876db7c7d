"""A client: what an engine offers, by asking a server over HTTP."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

from rowlock import tokens
from rowlock.api.items import due_text
from rowlock.api.operation import ApiRequest
from rowlock.api.tokens import CREATE_TOKEN, CreatedToken, TokenOptions
from rowlock.client import caller, sessions, upload
from rowlock.client.caller import Caller
from rowlock.client.transport import Transport, TransportOptions
from rowlock.db import BoundVerb
from rowlock.db.transaction import Verb
from rowlock.durations import Duration, DurationOrTime, delay_or_time
from rowlock.engine import Session
from rowlock.engine.handles import Handles
from rowlock.engine.protocols import Runner, Writer
from rowlock.engine.settings_cache import SETTINGS_SECONDS
from rowlock.environment import REAL_ENVIRONMENT, Environment
from rowlock.errors import NeedsDatabase
from rowlock.lists import PollResult
from rowlock.roles import read_role
from rowlock.tokens import NewToken, TokenInfo, check_label, read_prefixes
from rowlock.upkeep import UpkeepReport

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8642"
TIMEOUT_SECONDS, PATIENCE_SECONDS = 60.0, 30.0

DERIVED: Mapping[Callable[..., Any], Callable[..., Any]] = {**upload.VERBS, **caller.VERBS, **sessions.VERBS}
"""Verbs that take other requests than one operation of their own."""


class RemoteSession(Session):
    """A live worker on another machine than its database: the server searches lists, and settings are cached."""

    _server_searches = True
    _settings_seconds = SETTINGS_SECONDS


class RemoteTokens:
    """The access tokens of a server: created, listed, revoked. Only the server authenticates them."""

    def __init__(self, runner: Caller) -> None:
        self._runner = runner

    def create(
        self, role: str, *, lists: str | Iterable[str] = (), label: str = "", expires: DurationOrTime | None = None
    ) -> NewToken:
        """Create a token; only this returns its text. `lists` are prefixes of names, `expires` a duration or time."""
        chosen = read_role(role)
        prefixes = read_prefixes(lists, chosen)
        check_label(label)
        until = None if expires is None else due_text(*delay_or_time(expires)) or "0s"
        request = ApiRequest((), body=TokenOptions(chosen, prefixes, label, until))
        created: CreatedToken = self._runner.transport.send(CREATE_TOKEN, request)
        return NewToken(created.token, created.info)

    def page(self, *, after: int = 0, limit: int = 1000, ended: bool = False) -> list[TokenInfo]:
        """Return tokens in the order of their ids, strictly after one; with `ended` also revoked and expired ones."""
        return self._runner.run(tokens.page, after=after, limit=limit, ended=ended)

    def revoke(self, token: int) -> bool:
        """Revoke a token by its id; return whether that changed anything."""
        return self._runner.run(tokens.revoke, token)


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
        timeout: float = TIMEOUT_SECONDS,
        patience: float = PATIENCE_SECONDS,
        environment: Environment = REAL_ENVIRONMENT,
        **options: Any,
    ) -> None:
        address = url or os.environ.get("ROWLOCK_SERVER") or DEFAULT_URL
        secret = token or os.environ.get("ROWLOCK_TOKEN") or None
        self.environment = environment
        self._transport = Transport(address, secret, TransportOptions(timeout, patience, environment, options))
        self._runner = Caller(self._transport, DERIVED)

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
        return RemoteTokens(self._runner)

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Have a verb that writes run by the server; repeated if no answer came, where that is harmless.

        NeedsDatabase if no request offers it.
        """
        return self._runner.run(verb, *args, **kwargs)

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Have a verb that only reads run by the server."""
        return self._runner.run(verb, *args, **kwargs)

    def transaction(self) -> NoReturn:
        """Refused: your rows and ours can only commit together where the database is."""
        raise NeedsDatabase("a transaction is not possible over HTTP", "use an Engine, where the database is")

    def join(self, using: Any) -> Runner:  # noqa: ARG002
        """Refused: a transaction of yours is not the server's."""
        raise NeedsDatabase(
            "a transaction cannot travel to a server: using= is for an Engine", "add where the database is"
        )

    def pipeline(self, *works: Callable[..., Any]) -> list[Any]:
        """Settle whole claims and claim in one request, for a worker; return the answers in order."""
        return sessions.pipeline(self._transport, cast("tuple[BoundVerb, ...]", works))

    def look(self, session: str, *, wait: float = 0.0) -> PollResult:
        """Return the lists of a session that may have work; with `wait`, as soon as there are some within that time."""
        return sessions.look(self._transport, session, wait=wait)

    def upkeep(self, *, wait: Duration = 0) -> UpkeepReport:  # noqa: ARG002
        """Do nothing, and report that: a server does its own upkeep."""
        return UpkeepReport()

    @contextmanager
    def dedicated_connection(self) -> Iterator[Writer]:
        """Open a connection of its own to the server, for calls that must not wait until others are done."""
        transport = self._transport.twin()
        try:
            yield Caller(transport, DERIVED)
        finally:
            transport.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()
