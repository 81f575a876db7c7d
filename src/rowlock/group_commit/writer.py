"""The writer: one thread for a database, which commits the calls of all others group by group.

Each call of a group is answered by itself, and an error of one does not fail the others.
"""

import copy
import sys
import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from rowlock.db import Database, Tx, is_flushed, unflushed
from rowlock.db.driver import LockTimeout, RetryTransaction
from rowlock.db.pool import MAX_WAIT_SECONDS
from rowlock.db.transaction import Verb
from rowlock.errors import AlreadyClosed, InvalidTransaction, RowlockError
from rowlock.forks import PerProcess
from rowlock.group_commit.calls import (
    FutureWaiter,
    GroupedCall,
    LoopMailbox,
    LoopWaiter,
    ThreadWaiter,
    Waiter,
    group_rule,
    merged,
    run_merged,
)

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

P = ParamSpec("P")
T = TypeVar("T")

MAX_CALLS_PER_TRANSACTION = 512
MAX_COST_PER_TRANSACTION = 5_000
MAX_TRANSACTION_SECONDS = 0.05
"""A transaction that has run for longer takes on no more calls."""
IDLE_SECONDS = 5.0
"""How long the writer's thread waits for a call before it ends; the next call starts another."""
LINGER_SHARE = 0.25
"""The share of its last transaction's time that a busy writer waits for the callers it answered to come back."""
MAX_LINGER_SECONDS = 0.001
LOCK_SECONDS = 0.1
"""How long a group waits for rows that others have locked; less than it takes PostgreSQL to look for a deadlock."""
OVERFLOW_THREADS = 8
NEVER = sys.maxsize


class GroupCommit:
    """Commits the calls of many threads, futures and coroutines together.

    The first call runs at once; those that come while its transaction runs are the next group.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = PerProcess(lambda: _Writer(database))
        self._mailboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopMailbox] = WeakKeyDictionary()

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes in a group, and wait for its answer."""
        self._database.driver.check_write_lock()
        writer = self._writer.get()
        if writer.is_current():
            raise InvalidTransaction("the writer of a group cannot wait for itself", "ask from another thread")
        waiter = ThreadWaiter()
        call = _call(waiter, verb, args, kwargs)
        if call.group_key.isolated:
            return self._database.run(verb, *args, **kwargs)
        try:
            writer.take(call)
            result: T = waiter.wait()
        finally:
            waiter.wanted = False
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
        mailbox = self._mailboxes.get(loop)
        if mailbox is None:
            mailbox = self._mailboxes[loop] = LoopMailbox()
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
        self._threads = _Threads(self._write, self._waiting, name="rowlock group", size=1)
        self._enough = NEVER
        """How many calls must wait for the thread to be woken; it needs no waking while it commits."""
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._closed = False

    def take(self, call: GroupedCall) -> None:
        """Run the call in the next group."""
        if self._closed:
            raise AlreadyClosed.of("engine")
        if call.group_key.isolated:
            self._overflow.take(call)
            return
        self._waiting.append(call)
        if len(self._waiting) >= self._enough:
            self._wake.put(None)
        self._threads.start()

    def is_current(self) -> bool:
        """Return whether the calling thread is the writer's."""
        return self._threads.is_current()

    def close(self) -> None:
        """Finish the calls that wait, and take no more."""
        self._closed = True
        self._wake.put(None)
        self._threads.wait()
        self._overflow.close()
        self._database.close()

    def _write(self) -> None:
        size, linger = 0, 0.0
        while calls := self._next_group(size, linger):
            start = self._now()
            left, blocked = commit(self._database, calls)
            self._waiting.extendleft(reversed(left))
            for call in blocked:
                self._overflow.take(call)
            size, linger = len(calls), min(MAX_LINGER_SECONDS, LINGER_SHARE * (self._now() - start))

    def _next_group(self, last_size: int, linger: float) -> list[GroupedCall]:
        # Callers that were answered ask again at once, or not at all: a group of the first of them would be small.
        if last_size > 1:
            self._wait(last_size, linger)
        while not self._waiting:
            if not self._wait(1, IDLE_SECONDS):
                return []
        calls: list[GroupedCall] = []
        cost = 0
        while self._waiting and len(calls) < MAX_CALLS_PER_TRANSACTION and cost < MAX_COST_PER_TRANSACTION:
            calls.append(self._waiting.popleft())
            cost += calls[-1].group_key.cost
        return calls

    def _wait(self, enough: int, seconds: float) -> bool:
        """Wait until that many calls wait, and return whether something has woken the thread in time."""
        self._enough = enough  # first: a call that comes after the look at their number wakes this thread
        try:
            if len(self._waiting) < enough and not self._closed:
                self._wake.get(timeout=seconds)
                return True
        except Empty:
            pass
        finally:
            self._enough = NEVER
        return False


class _Overflow:
    """A few threads with connections of their own for calls that no group should wait for.

    Those are the long ones, and those that wait for a lock of another transaction. Each runs one call at a time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database.clone(connections=OVERFLOW_THREADS)
        self._waiting: deque[GroupedCall] = deque()
        self._threads = _Threads(self._work, self._waiting, name="rowlock overflow", size=OVERFLOW_THREADS)

    def take(self, call: GroupedCall) -> None:
        """Run the call when a thread is free."""
        self._waiting.append(call)
        self._threads.start()

    def close(self) -> None:
        """Finish the calls that wait."""
        self._threads.wait()
        self._database.close()

    def _work(self) -> None:
        while True:
            try:
                call = self._waiting.popleft()
            except IndexError:
                return
            commit(self._database, [call])


class _Threads:
    """At most `size` threads that do some work while calls wait for it.

    Ctrl-C may raise in the caller of any method, between any two bytecodes. So `Thread.start` runs in a thread of its
    own, which no signal reaches: interrupted, it leaves a thread that never begins its work.
    """

    def __init__(self, work: Callable[[], None], waiting: deque[GroupedCall], *, name: str, size: int) -> None:
        self._work = work
        self._waiting = waiting
        self._name = name
        self._size = size
        self._lock = threading.Lock()
        self._running: set[threading.Thread] = set()
        self._ended: SimpleQueue[None] = SimpleQueue()

    def start(self) -> None:
        """Start one more thread, if fewer than `size` run."""
        if len(self._running) >= self._size:
            return
        with self._lock:
            if len(self._running) < self._size:
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                start_new_thread(thread.start, ())
                self._running.add(thread)

    def is_current(self) -> bool:
        """Return whether the calling thread is one of these."""
        return threading.current_thread() in self._running

    def wait(self) -> None:
        """Wait until all threads have ended."""
        while self._running:
            with suppress(Empty):
                self._ended.get(timeout=MAX_WAIT_SECONDS)

    def _run(self) -> None:
        thread = threading.current_thread()
        with self._lock:
            if thread not in self._running:
                return  # its start was interrupted, and another one starts in its place
        try:
            self._work()
        finally:
            with self._lock:
                self._running.discard(thread)
            self._ended.put(None)
            # A call that came before the thread was discarded has started no other.
            if self._waiting:
                self.start()


def commit(database: Database, calls: Sequence[GroupedCall]) -> tuple[list[GroupedCall], list[GroupedCall]]:
    """Run as many of the calls as one transaction has time for, and answer them.

    Return those that it had no time for, and those that wait for a lock of another transaction.
    """
    left: list[GroupedCall] = []
    blocked: list[GroupedCall] = []
    waiting = [call for call in calls if call.waiter.is_waiting()]
    # A transaction is flushed or not as a whole, and calls that need the flush must not lose it.
    for flushed in (True, False):
        group = [call for call in waiting if is_flushed(call.verb) is flushed]
        if not group:
            continue
        run = _run_alone(database, group[0]) if len(group) == 1 else _Group(database, group).run(flushed=flushed)
        for call, answer in run.answers:
            try:
                call.waiter.resolve(answer)
            except BaseException:
                # An exception in a callback of one caller must not leave the others without an answer.
                import logging  # heavy, and needed only here

                logging.getLogger("rowlock.group_commit").exception("an answer could not be delivered")
        blocked += run.blocked
        if len(run.answers) < len(group):
            done = {id(call) for call, _ in run.answers} | {id(call) for call in run.blocked}
            left += [call for call in group if id(call) not in done]
    return left, blocked


class _Run(msgspec.Struct):
    """What one run of a group's transaction has done; it counts only if that is committed."""

    begun: list[GroupedCall] = []
    answers: list[tuple[GroupedCall, Any]] = []
    blocked: list[GroupedCall] = []


def _run_alone(database: Database, call: GroupedCall) -> _Run:
    try:
        return _Run(answers=[(call, database.run(call.verb, *call.args, **call.kwargs))])
    except LockTimeout:
        return _Run(blocked=[call])
    except BaseException as error:
        return _Run(answers=[(call, error)])


class _FailedAfterWriting(Exception):
    """A call failed after it had written, or in a merge: nothing of the transaction may stay."""


class _Group:
    """Calls that run in one transaction."""

    def __init__(self, database: Database, calls: Sequence[GroupedCall]) -> None:
        self._database = database
        self._calls = calls
        self._now = database.environment.monotonic
        self._last = _Run()

    def run(self, *, flushed: bool) -> _Run:
        """Run the calls; an error that no verb should raise is an answer too, for every waiter must get one."""
        try:
            try:
                self._commit(self._optimistically, flushed=flushed)
            except (LockTimeout, _FailedAfterWriting):
                self._commit(self._one_by_one, flushed=flushed)
        except BaseException as error:
            # Calls that were not begun have another turn.
            return _Run(answers=_all_failed(self._last.begun or self._calls, error))
        return self._last

    def _commit(self, work: Callable[[Tx], None], *, flushed: bool) -> None:
        self._database.run(work if flushed else unflushed(partial(work)))

    def _optimistically(self, tx: Tx) -> None:
        """Run without savepoints; raise _FailedAfterWriting if a call fails after it has written."""
        run, until = _Run(), self._now() + MAX_TRANSACTION_SECONDS
        self._last = run
        for calls in merged(self._calls):
            run.begun += calls
            writes = tx.writes
            try:
                run.answers += zip(calls, run_merged(tx, calls), strict=True)
            except (RetryTransaction, LockTimeout):
                raise
            except Exception as error:
                # An error of one among merged calls is not the others': each is then run by itself.
                if len(calls) > 1 or tx.writes != writes:
                    raise _FailedAfterWriting from error
                run.answers += _all_failed(calls, error)
            if self._now() > until:
                return

    def _one_by_one(self, tx: Tx) -> None:
        """Run each call in a savepoint of its own; at least one of them is answered."""
        run, until = _Run(), self._now() + MAX_TRANSACTION_SECONDS
        self._last = run
        for call in (call for calls in merged(self._calls) for call in calls):
            run.begun.append(call)
            try:
                with tx.savepoint():
                    answer = call.verb(tx, *call.args, **call.kwargs)
                run.answers.append((call, answer))
            except RetryTransaction:
                raise
            except LockTimeout:
                run.blocked.append(call)
            except Exception as error:
                if tx.broken:
                    raise
                run.answers.append((call, error))
            if self._now() > until:
                return


def _all_failed(calls: Iterable[GroupedCall], error: BaseException) -> list[tuple[GroupedCall, Any]]:
    # Each caller gets an exception of its own, because the code that catches one adds to it.
    return [(call, copy.copy(error) if isinstance(error, RowlockError) else error) for call in calls]
