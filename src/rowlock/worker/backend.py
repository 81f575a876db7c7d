"""Backends: what a worker works for. It is a database beside the worker, or a server in front of one."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn, Protocol

from rowlock import diagnostics, lists, upkeep
from rowlock.db import Hint
from rowlock.durations import Duration, milliseconds
from rowlock.engine import Engine, Session, Transaction
from rowlock.engine.claimer import Claimer
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid, NeedsDatabase, RowlockError, SchemaMissing, Unavailable
from rowlock.lists import ListWithWork, PollResult
from rowlock.worker.lease_holder import HeldLeases, LeaseHolder, LeaseHook
from rowlock.worker.schedule_ticker import ScheduleTicker

log = logging.getLogger("rowlock.worker")

RECONNECT_SECONDS = 0.5
"""The pause after an error that says the database or the server cannot be reached."""
PUT_OFF = (Unavailable, SchemaMissing)
"""Errors after which upkeep and ticks go on later: while a backup is restored, there are no tables."""
PAGE_LISTS = 100
MAX_KNOWN_LISTS = 10_000
"""Lists whose names are kept for hints; those that are forgotten are found by a poll."""
HINT_SECONDS = 0.1
"""How long one wait for a hint takes: a thread that shall stop does so within it."""
PAUSE_AFTER_HINT_SECONDS = 0.005
"""A process's own commits are hints too: they must not come faster than they can be of use."""
LONG_POLL_SECONDS = 25.0
"""How long the server may hold a poll open before it answers that there is no work."""

Look = Callable[..., PollResult]
"""Asks the server, by a session's id, which lists may have work; with `wait`, it answers as soon as there are some."""


class LocalPoller:
    """Finds lists with work in the database, page by page, and looks after the leases of its session."""

    max_pause = 1.0
    """Seconds between two polls while nothing is found."""
    busy_pause = 0.25
    """Seconds that a list which wakes may wait behind others that always have work."""

    def __init__(self, engine: Engine, session: str, *, fits: Callable[[str], bool], hook: LeaseHook) -> None:
        self._engine = engine
        self._lease_holder = LeaseHolder(engine, session, fits=fits, hook=hook)
        self.leases = self._lease_holder.held
        self._page_end: ListWithWork | None = None
        self._names: dict[int, str] = {}
        """Names of lists that polls have found, by the numbers that hints give."""

    def poll(self) -> PollResult:
        """Return the next page of lists that may have work, and the exclusive lists that the session holds."""
        if self._engine.read(lists.has_pending_wakes):
            self._engine.pipeline(lists.apply_wakes.bind())
        page = self._engine.read(lists.awake, after=self._page_end, limit=PAGE_LISTS)
        self._page_end = page[-1] if len(page) == PAGE_LISTS else None
        if len(self._names) > MAX_KNOWN_LISTS:
            self._names.clear()
        self._names.update((awake.id, awake.name) for awake in page)
        held = [*self._lease_holder.refresh()]
        return PollResult([awake.name for awake in page], held, more=self._page_end is not None)

    def known(self, hint: Hint) -> list[str]:
        """Return the names of the lists that a hint is about, as far as a poll has found them before."""
        return [name for number in hint.lists if (name := self._names.get(number)) is not None]

    def next_wake(self) -> float | None:
        """Return the seconds until the next sleeping list wakes by itself, if one does."""
        return self._engine.read(lists.next_wake)


class RemotePoller:
    """Polls the server; while there is nothing to do a thread holds a long poll open and passes on its answer."""

    max_pause = 10.0
    busy_pause = 1.0

    def __init__(self, look: Look, session: Session, *, leases: HeldLeases) -> None:
        self._look = look
        self._session = session
        self.leases = leases
        self._next_wake: float | None = None
        self._long_polled: PollResult | None = None
        self._idle = threading.Event()

    def poll(self) -> PollResult:
        """Return what the long poll has found, or what the server answers now."""
        result, self._long_polled = self._long_polled, None
        if result is None:
            result = self._look(self._session.id)
        self.leases.replace(set(result.held))
        self._next_wake = result.next
        if not result.names and not result.held:
            self._idle.set()
        return result

    def known(self, hint: Hint) -> list[str]:  # noqa: ARG002
        """Return nothing: the answer to a long poll names its lists."""
        return []

    def next_wake(self) -> float | None:
        """Return the seconds until the next sleeping list wakes by itself, as the last poll has said."""
        return self._next_wake

    def listen(self, wake: Callable[[Hint], None]) -> None:
        """Hold long polls open whenever there is nothing to do, until the session closes."""
        while not self._session.closing.is_set():
            if not self._idle.wait(RECONNECT_SECONDS):
                continue
            try:
                result = self._look(self._session.id, wait=LONG_POLL_SECONDS)
            except Unavailable:
                self._session.closing.wait(RECONNECT_SECONDS)
                continue
            except RowlockError:
                wake(Hint())  # the worker's next poll raises it too
                return
            if result.names or result.held:
                self._idle.clear()
                self._long_polled = result
                wake(Hint())


class LocalBackend:
    """Works for the database of an engine. It also runs schedules and upkeep, and listens for hints."""

    noun = "engine"

    def __init__(self, engine: Engine, *, expiry: Duration = "15s") -> None:
        self.engine = engine
        self._ticker = ScheduleTicker(engine)
        self._upkeep_seconds = milliseconds(expiry) / 3_000

    def claimer(self, session: Session) -> Claimer:
        """Return what claims for the session."""
        return Claimer(self.engine, session.id, heartbeat=True, server_searches=False)

    def poller(self, session: Session, *, fits: Callable[[str], bool], hook: LeaseHook) -> LocalPoller:
        """Return what finds lists with work for the session."""
        return LocalPoller(self.engine, session.id, fits=fits, hook=hook)

    def ping(self) -> None:
        """Raise Unavailable if the database does not answer."""
        self.engine.read(diagnostics.now)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Return a transaction for a handler, which begins when it is first used."""
        return self.engine.late_transaction()

    def start_threads(self, session: Session, *, wake: Callable[[Hint], None]) -> list[threading.Thread]:
        """Start what runs beside the work until the session closes; `wake` is called when there may be work."""
        self._tick()
        return [
            _start_thread("rowlock hints", lambda: listen_for_hints(self.engine, wake, stopped=session.closing)),
            _start_thread("rowlock upkeep", lambda: self._keep_up(session)),
            _start_thread("rowlock ticks", lambda: self._keep_ticking(session)),
        ]

    def _keep_up(self, session: Session) -> None:
        housekeeping = upkeep.Housekeeping(self.engine.database, seconds=self._upkeep_seconds)
        while not session.closing.wait(housekeeping.pause):
            try:
                housekeeping.go_on()
            except PUT_OFF as error:
                log.info("upkeep put off", extra={"code": error.code})

    def _keep_ticking(self, session: Session) -> None:
        while not session.closing.wait(self._tick()):
            pass

    def _tick(self) -> float:
        """Tick once, and return the seconds until the next time."""
        try:
            self._ticker.tick_due()
        except PUT_OFF as error:
            log.info("ticking put off", extra={"code": error.code})
            return RECONNECT_SECONDS
        return self._ticker.wait


class RemoteBackend:
    """Works for the server of a client. The server polls, ticks and does upkeep on its behalf."""

    noun = "client"

    def __init__(self, client: Handles, look: Look) -> None:
        self.engine = client
        self._look = look

    def claimer(self, session: Session) -> Claimer:
        """Return what claims for the session."""
        return Claimer(self.engine, session.id, heartbeat=True, server_searches=True)

    def poller(self, session: Session, *, fits: Callable[[str], bool], hook: LeaseHook) -> RemotePoller:  # noqa: ARG002
        """Return what finds lists with work for the session; the server knows the patterns of the lists it works."""
        self._poller = RemotePoller(self._look, session, leases=HeldLeases(hook, self.engine.environment.monotonic))
        return self._poller

    def ping(self) -> None:
        """Raise Unavailable if the server does not answer."""
        self.engine.read(lists.page, limit=1)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Yield a transaction that refuses to be used."""
        yield Transaction(_refuse)

    def start_threads(self, session: Session, *, wake: Callable[[Hint], None]) -> list[threading.Thread]:  # noqa: ARG002
        """Start to hold long polls open until the session closes; `wake` is called when there may be work."""
        return [_start_thread("rowlock hints", lambda: self._poller.listen(wake))]


Backend = LocalBackend | RemoteBackend
"""Where a worker polls, claims and settles, and which threads it needs beside that."""


class AsyncSource(Protocol):
    """An AsyncEngine: a worker uses its plain engine."""

    @property
    def plain(self) -> Engine:
        """The plain engine."""


def backend_of(source: Any, expiry: Duration) -> Backend:
    """Return the backend for an engine, an async engine or a client."""
    source = getattr(source, "plain", source)  # of an AsyncEngine
    if isinstance(source, Engine):
        return LocalBackend(source, expiry=expiry)
    look = getattr(source, "look", None)
    if callable(look):
        return RemoteBackend(source, look)
    what = f"a worker works for an Engine or a Client, got {type(source).__name__}"
    raise Invalid(what, "give Engine(…), AsyncEngine(…) or Client(…)")


def listen_for_hints(
    engine: Engine, wake: Callable[[Hint], None], *, stopped: threading.Event, seconds: float = HINT_SECONDS
) -> None:
    """Call `wake` whenever somebody may have added work, until `stopped` is set; by a connection of its own."""
    database = engine.database.clone(connections=1, listening=True)
    try:
        while not stopped.is_set():
            try:
                if (hint := database.wait_for_hint(seconds)) is not None:
                    wake(hint)
                    stopped.wait(PAUSE_AFTER_HINT_SECONDS)
            except Unavailable:
                stopped.wait(RECONNECT_SECONDS)
    finally:
        database.close()


def _start_thread(name: str, target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread


def _refuse() -> NoReturn:
    raise NeedsDatabase("a transaction of the settlement needs the database itself", "work with an Engine, beside it")
