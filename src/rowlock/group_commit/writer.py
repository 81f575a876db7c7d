"""The writer: one thread for a database, which commits the calls of all others group by group."""

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from rowlock.db import Database
from rowlock.db.database import Verb
from rowlock.errors import InvalidTransaction, Unavailable
from rowlock.forks import PerProcess
from rowlock.group_commit.calls import GroupedCall, Waiter, group_rule
from rowlock.group_commit.transactions import commit
from rowlock.group_commit.waiters import FutureWaiter, LoopMailbox, LoopWaiter, ThreadWaiter

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

P = ParamSpec("P")
T = TypeVar("T")

MAX_CALLS_PER_TRANSACTION = 512
MAX_COST_PER_TRANSACTION = 5_000
IDLE_SECONDS = 5.0
"""How long the writer's thread waits for a call before it ends; the next call starts another."""
LINGER_SHARE = 0.25
"""The share of its last transaction's time that a busy writer waits for the callers it answered to come back."""
MAX_LINGER_SECONDS = 0.001
LOCK_SECONDS = 0.1
"""How long a group waits for rows that others have locked; less than it takes PostgreSQL to look for a deadlock."""
OVERFLOW_THREADS = 8


class GroupCommit:
    """Commits the calls of many threads, futures and coroutines together.

    The first call runs at once; those that come while its transaction runs are the next group.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = PerProcess(lambda: _Writer(database))
        self._mailbox: LoopMailbox | None = None
        self._mailboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopMailbox] = WeakKeyDictionary()

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes in a group, and wait for its answer."""
        self._database.driver.check_write_lock()
        writer = self._writer.get()
        if writer.is_current_thread:
            raise InvalidTransaction("the writer of a group cannot wait for itself", "ask from another thread")
        waiter = ThreadWaiter()
        call = _call(waiter, verb, args, kwargs)
        if call.group_key.isolated:
            return self._database.run(verb, *args, **kwargs)
        try:
            writer.take(call)
            result: T = waiter.wait()
        finally:
            waiter.leave()
        return result

    def ask(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run a verb that writes in a group and return a future; cancelled before it has begun, it is not run."""
        from concurrent.futures import Future  # heavy, and needed only here

        future: Future[T] = Future()
        self._writer.get().take(_call(FutureWaiter(future), verb, args, kwargs))
        return future

    def awaited(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        """Run a verb that writes in a group and return an awaitable; far cheaper than to wrap what `ask` returns."""
        from asyncio import get_running_loop  # heavy, and needed only by coroutines

        loop = get_running_loop()
        mailbox = self._mailbox
        if mailbox is None or mailbox.loop is not loop:
            mailbox = self._mailbox = self._mailboxes.setdefault(loop, LoopMailbox(loop))
        future: asyncio.Future[T] = loop.create_future()
        self._writer.get().take(_call(LoopWaiter(mailbox, future), verb, args, kwargs))
        return future

    def close(self) -> None:
        """Finish the calls that wait, and take no more."""
        if not self._writer.inherited:
            self._writer.get().close()


def _call(waiter: Waiter, verb: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> GroupedCall:
    return GroupedCall(verb, args, kwargs, group_rule(verb).key(*args, **kwargs), waiter)


class _Writer:
    """The thread of one process that commits groups, started when there is a call."""

    def __init__(self, database: Database) -> None:
        self._now = database.environment.monotonic
        self._database = database.clone(connections=1, lock_seconds=LOCK_SECONDS)
        self._overflow = _Overflow(database)
        self._waiting: deque[GroupedCall] = deque()
        self._change = threading.Condition(threading.Lock())
        self._enough = 1
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def is_current_thread(self) -> bool:
        """Whether this is asked by the writer itself: a verb that would wait for its own group."""
        return self._thread is threading.current_thread()

    def take(self, call: GroupedCall) -> None:
        """Run the call in the next group."""
        with self._change:
            if self._closed:
                raise Unavailable("this engine has been closed", "open another one")
            if call.group_key.isolated:
                self._overflow.take(call)
                return
            self._waiting.append(call)
            if self._thread is None:
                self._start()
            elif len(self._waiting) >= self._enough:
                self._change.notify()

    def close(self) -> None:
        """Finish the calls that wait, and take no more."""
        with self._change:
            self._closed = True
            self._change.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._overflow.close()
        self._database.close()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._write, name="rowlock group", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        try:
            self._write_groups()
        except BaseException:
            # No error of ours should come here; if one does, the callers must not wait for ever.
            with self._change:
                self._thread = None
                if self._waiting:
                    self._start()
            raise

    def _write_groups(self) -> None:
        while calls := self._next_group():
            start = self._now()
            unanswered = commit(self._database, calls)
            with self._change:
                self._waiting.extendleft(reversed(unanswered.left))
            for call in unanswered.blocked:
                self._overflow.take(call)
            self._linger(len(calls), min(MAX_LINGER_SECONDS, LINGER_SHARE * (self._now() - start)))

    def _linger(self, size: int, seconds: float) -> None:
        # Callers that were answered ask again at once, or not at all: a group of the first of them would be small.
        with self._change:
            if size > 1 and len(self._waiting) < size and not self._closed:
                self._enough = size
                self._change.wait(seconds)
                self._enough = 1

    def _next_group(self) -> list[GroupedCall]:
        with self._change:
            while not self._waiting:
                if self._closed or not (self._change.wait(IDLE_SECONDS) or self._waiting):
                    self._thread = None
                    return []
            calls: list[GroupedCall] = []
            cost = 0
            while self._waiting and len(calls) < MAX_CALLS_PER_TRANSACTION and cost < MAX_COST_PER_TRANSACTION:
                calls.append(self._waiting.popleft())
                cost += calls[-1].group_key.cost
            return calls


class _Overflow:
    """A few threads with connections of their own for calls that no group should wait for.

    Those are the long ones, and those that wait for a lock of another transaction. Each runs one call at a time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database.clone(connections=OVERFLOW_THREADS)
        self._lock = threading.Lock()
        self._waiting: deque[GroupedCall] = deque()
        self._threads: set[threading.Thread] = set()

    def take(self, call: GroupedCall) -> None:
        """Run the call when a thread is free."""
        with self._lock:
            self._waiting.append(call)
            if len(self._threads) < OVERFLOW_THREADS:
                thread = threading.Thread(target=self._work, name="rowlock overflow", daemon=True)
                self._threads.add(thread)
                thread.start()

    def close(self) -> None:
        """Finish the calls that wait."""
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join()
        self._database.close()

    def _work(self) -> None:
        while (call := self._next()) is not None:
            commit(self._database, [call])

    def _next(self) -> GroupedCall | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._threads.discard(threading.current_thread())
            return None
