"""The worker: handlers for lists, run until it is stopped."""

import logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, get_args, overload

import msgspec

from rowlock import backlog, lists, sessions
from rowlock.durations import Duration, milliseconds
from rowlock.engine import Engine, Session
from rowlock.engine.handles import Handles
from rowlock.errors import AlreadyClosed, Invalid, NeedsDatabase, Stale, Unavailable
from rowlock.model import Item, Processor
from rowlock.outcomes import Outcome, Verdict
from rowlock.worker.backend import RECONNECT_SECONDS, AsyncSource, backend_of
from rowlock.worker.error_reports import ErrorHook
from rowlock.worker.handlers import Handler, HandlerOptions, Turn, define, warn_of_missing_lists
from rowlock.worker.hooks import Hooks
from rowlock.worker.typed_items import BatchDecorator, D, HandlerDecorator, TypedItem
from rowlock.worker.work_loop import WorkLoop

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from rowlock.worker.exec.commands import Commands
    from rowlock.worker.http_processor import ProcessorHandler

log = logging.getLogger("rowlock.worker")

Function = TypeVar("Function", bound=Callable[..., Any])
Until = Literal["stopped", "idle", "done"]

END_CHECK_SECONDS = 1.0
"""How often a worker that ends by itself checks whether it is time."""
MAX_FRUITLESS_OFFERS = 10
"""Claims in a row that give nothing although items show as ready, before a worker that runs until idle ends."""


class Worker:
    """Runs handlers for the items of lists: of an engine, or of a client on any machine that reaches the server.

    Register with `on`, then `run`. The first SIGTERM or Ctrl-C finishes what runs, settles and gives back the rest;
    the second stops at once.
    """

    def __init__(
        self,
        engine: Handles | AsyncSource,
        *,
        concurrency: int = 16,
        holder: str | None = None,
        expiry: Duration = "15s",
        flush: Duration = "50ms",
        grace: Duration = "10s",
    ) -> None:
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise Invalid(f"concurrency must be at least 1, got {concurrency!r}", "give a whole number")
        self._backend = backend_of(engine, expiry)
        self._engine = self._backend.engine
        self.concurrency = concurrency
        self._holder = holder
        self._expiry = sessions.check_expiry(expiry) / 1_000
        self._flush = milliseconds(flush) / 1_000
        self._grace = milliseconds(grace) / 1_000
        self._handlers: list[Handler] = []
        self._processors: list[tuple[Handler, ProcessorHandler]] = []
        self._hooks = Hooks()
        self._stopping = threading.Event()
        self._at_once = threading.Event()
        self._loop: WorkLoop | None = None
        self._event_loop: AbstractEventLoop | None = None
        self._warned_code = ""
        self._checked_patterns = False
        self._fruitless_offers = 0

    @overload
    def on(
        self, pattern: str, *, data: type[D], batch: int, **options: Unpack[HandlerOptions]
    ) -> BatchDecorator[TypedItem[D]]: ...
    @overload
    def on(
        self, pattern: str, *, data: type[D], **options: Unpack[HandlerOptions]
    ) -> HandlerDecorator[TypedItem[D], Turn]: ...
    @overload
    def on(self, pattern: str, *, batch: int, **options: Unpack[HandlerOptions]) -> BatchDecorator[Item]: ...
    @overload
    def on(self, pattern: str, **options: Unpack[HandlerOptions]) -> HandlerDecorator[Item, Turn]: ...
    @overload
    def on(
        self,
        pattern: str,
        function: Function,
        *,
        data: Any = None,
        batch: int | None = None,
        **options: Unpack[HandlerOptions],
    ) -> Function: ...
    def on(
        self,
        pattern: str,
        function: Function | None = None,
        *,
        data: Any = None,
        gate: int | str | None = None,
        attempts: int | None = None,
        backoff: str | None = None,
        timeout: Duration | None = None,
        batch: int | None = None,
        processes: bool = False,
        within: Callable[..., None] | None = None,
    ) -> Any:
        """Handle the items of lists whose names fit the pattern; as a decorator, or with the function given.

        A `def` runs in a thread, an `async def` on the worker's event loop, with `processes` in a process of its own;
        with `batch` it gets a list of items and, if it takes two arguments, the transaction that settles them. Without
        it, `within(items, tx)` is called in that transaction, with those that are done. With `data` each item's data is
        decoded as that type; with `gate` only the items of that gate are handled.
        """
        if callable(pattern):
            what = f"on must have the name of a list, got the function {getattr(pattern, '__name__', pattern)!r}"
            raise Invalid(what, "write @worker.on('downloads') above it")
        options: dict[str, Any] = {"attempts": attempts, "backoff": backoff, "timeout": timeout, "batch": batch}

        def register(chosen: Function) -> Function:
            handler = define(pattern, chosen, processes=processes, within=within, gate=gate, data=data, **options)
            if handler.wants_transaction:
                self._local_engine("a handler that writes in the settling transaction")
            self._handlers.append(handler)
            return chosen

        return register if function is None else register(function)

    def execute(
        self,
        pattern: str,
        commands: "Commands",
        *,
        attempts: int | None = None,
        backoff: str | None = None,
        batch: int | None = None,
    ) -> None:
        """Run a command for each item of lists whose names fit the pattern, or for each batch of items."""
        handler = define(pattern, commands.outcome, attempts=attempts, backoff=backoff, batch=batch)
        self._handlers.append(msgspec.structs.replace(handler, arguments=1, executor=commands.executor))

    def process(
        self,
        pattern: str = "*",
        processor: Processor | None = None,
        *,
        attempts: int | None = None,
        backoff: str | None = None,
        allow: Iterable[str] | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        """Send the items of fitting lists by HTTP to the given processor, or to the list's own if it has one.

        `allow` names private hosts that may be sent to, else ROWLOCK_ALLOW_HOSTS does; `secrets` sign each request.
        """
        from rowlock.delivery.http_sender import (
            sender_from_environment,  # HTTP is slow to import, and few workers need it
        )
        from rowlock.worker.http_processor import ProcessorHandler

        engine = self._local_engine("sending items to a processor")
        sends = ProcessorHandler(engine, sender_from_environment(allow), given=processor, secrets=secrets)
        handler = define(pattern, sends.handle, attempts=attempts, backoff=backoff, accepts=sends.accepts)
        self._handlers.append(handler)
        self._processors.append((handler, sends))

    def health(self, *, seconds: float = 5.0) -> dict[str, str]:
        """Return what is wrong with the database and the processors, by name; empty if all is well.

        All are checked at once; one that has not answered after `seconds` counts as ill.
        """
        from rowlock.worker import health  # HTTP is heavy, and only who sends needs it

        groups = [sends.processors(handler) for handler, sends in self._processors]
        answers = health.examine(self._backend, groups, seconds=seconds)
        if self._loop is None:
            self._close_connections()  # nobody else would, before the worker runs
        return {name: wrong for name, wrong in answers.items() if wrong}

    def before(self, hook: Callable[[Item], None]) -> Callable[[Item], None]:
        """Call `hook(item)` when a handler is about to get an item, in the handler's thread."""
        self._hooks.add("before", hook)
        return hook

    def after(self, hook: Callable[[Item, Outcome, Verdict], None]) -> Callable[[Item, Outcome, Verdict], None]:
        """Call `hook(item, outcome, verdict)` when an item has been settled."""
        self._hooks.add("after", hook)
        return hook

    def on_failed(self, hook: Callable[[Item, Outcome, Verdict], None]) -> Callable[[Item, Outcome, Verdict], None]:
        """Call `hook(item, outcome, verdict)` when an item has used up its attempts."""
        self._hooks.add("failed", hook)
        return hook

    def on_error(self, hook: ErrorHook) -> ErrorHook:
        """Call `hook(error, items)` when a handler has raised or timed out, in its thread: for Sentry and the like.

        `items` is the one item, or all of a batch. What the handler returns, also a `Fail`, is no error.
        """
        self._hooks.add("error", hook)
        return hook

    def on_lease(self, hook: Callable[[str], None]) -> Callable[[str], None]:
        """Call `hook(name)` when this worker begins to hold an exclusive list, before its first item."""
        self._hooks.add("lease", hook)
        return hook

    def on_lease_end(self, hook: Callable[[str], None]) -> Callable[[str], None]:
        """Call `hook(name)` when this worker holds an exclusive list no longer: done, handed over, or lost."""
        self._hooks.add("lease_end", hook)
        return hook

    def on_stop(self, hook: Callable[[], None]) -> Callable[[], None]:
        """Call `hook()` when `run` ends, for whatever reason."""
        self._hooks.add("stop", hook)
        return hook

    def run(self, *, until: Until = "stopped", signals: bool = True) -> None:
        """Work until stopped, or until nothing is ready (`idle`), or until nothing is left to do at all (`done`)."""
        if until not in get_args(Until):
            raise Invalid(f"until must be one of {', '.join(get_args(Until))}, got {until!r}")
        if not self._handlers:
            raise Invalid("this worker has no handlers", "register one: @worker.on('downloads')")
        try:
            with stopped_by_signals(self, wanted=signals):
                while not self._stopping.is_set() and not self._run_session(until):
                    pass
        finally:
            self._close_connections()
            self._hooks.call("stop")

    async def run_async(self, *, until: Until = "stopped") -> None:
        """Work beside the running event loop, on which async handlers run; cancel it to stop gently, twice to stop now.

        Plain handlers run in threads as ever. Signals are left to the program.
        """
        import asyncio  # slow to import, and only programs that use it need it

        from rowlock.worker.event_loop import run_in_loop

        self._event_loop = asyncio.get_running_loop()
        try:
            await run_in_loop(partial(self.run, until=until, signals=False), self.stop)
        finally:
            self._event_loop = None

    def stop(self, *, now: bool = False, grace: Duration | None = None) -> None:
        """Finish what runs, settle, and give back the rest; `now` does not wait for what runs. Safe from any thread.

        `grace` replaces the time that what runs may take.
        """
        if now:
            self._at_once.set()
        if grace is not None:
            self._grace = milliseconds(grace) / 1_000
        self._stopping.set()
        loop = self._loop
        if loop is not None:
            loop.events.put("stop")

    def _run_session(self, until: Until) -> bool:
        try:
            session = self._engine.session(holder=self._holder, expiry=self._expiry)
            session.open(seeks=[handler.pattern for handler in self._handlers])
        except Unavailable as error:
            self._wait_out(error)
            return False
        if not self._checked_patterns:
            self._checked_patterns = True
            warn_of_missing_lists(self._engine, self._handlers, expected=until != "stopped")
        loop = self._loop = WorkLoop(
            self._backend,
            session,
            self._handlers,
            concurrency=self.concurrency,
            flush=self._flush,
            max_wait=inf if until == "stopped" else END_CHECK_SECONDS,
            event_loop=self._event_loop,
            hooks=self._hooks.of_items(),
            on_lease=self._hooks.call,
        )
        threads = self._backend.start_threads(session, wake=loop.events.put)
        try:
            ended = self._work(loop, session, until)
            try:
                self._finish_session(loop, session)
            except Unavailable as error:
                self._warn(error)  # what could not be settled runs again
            return ended
        finally:
            self._end(loop, session, threads)

    def _work(self, loop: WorkLoop, session: Session, until: Until) -> bool:
        while not self._stopping.is_set() and not session.lost.is_set():
            try:
                busy = loop.step(claiming=True)
                if busy:
                    self._fruitless_offers = 0
                if not busy and until != "stopped" and self._nothing_left(loop, session, until):
                    return True
                if self._warned_code:
                    self._note_answer()
            except Unavailable as error:
                self._wait_out(error)
            except Stale:
                break
        return self._stopping.is_set()

    def _wait_out(self, error: Unavailable) -> None:
        if isinstance(error, AlreadyClosed) and error.fields.get("closed") == self._backend.noun:
            raise error  # no waiting helps; one that a server has closed may come back
        self._warn(error)
        self._stopping.wait(RECONNECT_SECONDS)

    def _warn(self, error: Unavailable) -> None:
        # Once for each error, not twice a second while it lasts.
        if error.code != self._warned_code:
            log.warning("waiting: %s", error.what, extra={"code": error.code})
        self._warned_code = error.code

    def _note_answer(self) -> None:
        log.warning("working again: %r answers", self._engine)
        self._warned_code = ""

    def _nothing_left(self, loop: WorkLoop, session: Session, until: Until) -> bool:
        if not loop.idle:
            return False
        if until == "done":
            return self._engine.read(backlog.unfinished, fits=self._fits) == 0
        # The last poll may be older than the last settlement, which may have made an item ready.
        names = self._engine.read(backlog.with_work, fits=self._fits, holder=session.holder)
        loop.offer(names)
        self._fruitless_offers += 1
        return not names or self._fruitless_offers > MAX_FRUITLESS_OFFERS

    def _fits(self, row: lists.ListRow) -> bool:
        return any(handler.is_for(row.name, lambda: row.settings) for handler in self._handlers)

    def _finish_session(self, loop: WorkLoop, session: Session) -> None:
        if session.lost.is_set():
            log.warning("session lost", extra={"session": session.id})
            loop.cancel()
            return
        loop.return_unstarted()
        until = self._engine.environment.monotonic() + self._grace
        while loop.unfinished and not self._at_once.is_set() and self._engine.environment.monotonic() < until:
            loop.step(claiming=False)
        loop.settle_finished()

    def _end(self, loop: WorkLoop, session: Session, threads: list[threading.Thread]) -> None:
        self._loop = None
        loop.shutdown()
        try:
            session.close()
        except Unavailable as error:
            self._warn(error)  # it expires then, and its items are free a little later
        for thread in threads:
            thread.join(timeout=1)

    def _close_connections(self) -> None:
        for _, sends in self._processors:
            sends.close()

    def _local_engine(self, what: str) -> Engine:
        if isinstance(self._engine, Engine):
            return self._engine
        raise NeedsDatabase(
            f"{what} needs the database itself", "work where the database is: with an Engine, without --server"
        )


@contextmanager
def stopped_by_signals(worker: Worker, *, wanted: bool) -> Iterator[None]:
    """Stop the worker gently at the first SIGINT or SIGTERM, at once at the second; only the main thread can."""
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield
        return
    received = 0

    def stop(*_: Any) -> None:
        nonlocal received
        received += 1
        worker.stop(now=received > 1)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
