"""The writer: one thread to a database that does what all others ask for, group by group."""

import os
import threading
from collections import deque
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from rowlock.db import Database
from rowlock.db.database import Verb
from rowlock.errors import InvalidTransaction, Unavailable
from rowlock.group_commit.calls import GroupedCall, group_rule
from rowlock.group_commit.overflow import Overflow
from rowlock.group_commit.transactions import answer
from rowlock.group_commit.waiters import FutureWaiter, LoopMailbox, LoopWaiter, ThreadWaiter

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

P = ParamSpec("P")
T = TypeVar("T")

MAX_CALLS_PER_TRANSACTION = 512
"""Calls in one transaction."""
MAX_COST_PER_TRANSACTION = 5_000
"""Things that the calls of one transaction touch."""
IDLE_SECONDS = 5.0
"""Seconds without a call after which the writer's thread ends; the next call begins another."""
LINGER_SHARE = 0.25
"""The share of its last transaction's time that a busy writer waits for those it has just answered to come back."""
MAX_LINGER_SECONDS = 0.001
LOCK_SECONDS = 0.1
"""How long a group waits for what others have locked; less than it takes PostgreSQL to look for a deadlock."""


class GroupCommit:
    """One writer for a database and those who wait for it.

    The first to come goes at once; those who come while a transaction runs are the next group.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._waiting: deque[GroupedCall] = deque()
        self._change = threading.Condition(threading.Lock())
        self._enough = 1
        self._writer: threading.Thread | None = None
        self._own = self._database.clone(connections=1, lock_seconds=LOCK_SECONDS)
        self._overflow = Overflow(self._database)
        self._mailbox: LoopMailbox | None = None
        self._mailboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopMailbox] = WeakKeyDictionary()
        self._closed = False

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes among those of others, and wait for its answer."""
        self._database.check_write_lock()
        if self._writer is threading.current_thread():
            raise InvalidTransaction("the writer of a group cannot wait for itself", "ask from another thread")
        waiter = ThreadWaiter()
        call = GroupedCall(verb, args, kwargs, group_rule(verb).key(*args, **kwargs), waiter)
        if call.group_key.isolated:
            return self._database.run(verb, *args, **kwargs)
        try:
            self._take(call)
            result: T = waiter.wait()
        finally:
            waiter.leave()
        return result

    def ask(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """The same without waiting: cancelled before its transaction has begun, it is not run."""
        from concurrent.futures import Future  # heavy, and only who asks needs it

        future: Future[T] = Future()
        self._take(GroupedCall(verb, args, kwargs, group_rule(verb).key(*args, **kwargs), FutureWaiter(future)))
        return future

    def awaited(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        """The same for a coroutine: await it. Far cheaper than to wrap what `ask` gives."""
        from asyncio import get_running_loop  # heavy, and only coroutines need it

        loop = get_running_loop()
        mailbox = self._mailbox
        if mailbox is None or mailbox.loop is not loop:
            mailbox = self._mailbox = self._mailboxes.setdefault(loop, LoopMailbox(loop))
        future: asyncio.Future[T] = loop.create_future()
        waiter = LoopWaiter(mailbox, future)
        self._take(GroupedCall(verb, args, kwargs, group_rule(verb).key(*args, **kwargs), waiter))
        return future

    def close(self) -> None:
        """Finish what waits, and take no more."""
        if self._process != os.getpid():
            return
        with self._change:
            self._closed = True
            self._change.notify()
            writer = self._writer
        if writer not in (None, threading.current_thread()):
            writer.join()
        self._overflow.close()
        self._own.close()

    def _take(self, call: GroupedCall) -> None:
        if self._process != os.getpid():
            self._begin()  # a fork's child has neither the thread nor those who wait
        with self._change:
            if self._closed:
                raise Unavailable("this engine has been closed", "open another one")
            if call.group_key.isolated:
                self._overflow.take(call)
                return
            self._waiting.append(call)
            if self._writer is None:
                self._start_writer()
            elif len(self._waiting) >= self._enough:
                self._change.notify()

    def _start_writer(self) -> None:
        self._writer = threading.Thread(target=self._write, name="rowlock group", daemon=True)
        self._writer.start()

    def _write(self) -> None:
        try:
            self._write_on()
        except BaseException:
            # Nothing of ours should come here; if it does, those who wait must not wait for ever.
            with self._change:
                self._writer = None
                if self._waiting:
                    self._start_writer()
            raise

    def _write_on(self) -> None:
        while calls := self._next_group():
            start = self._database.environment.monotonic()
            rest = answer(self._own, calls)
            with self._change:
                self._waiting.extendleft(reversed(rest.left))
            for call in rest.stuck:
                self._overflow.take(call)
            took = self._database.environment.monotonic() - start
            self._linger(len(calls), min(MAX_LINGER_SECONDS, LINGER_SHARE * took))

    def _linger(self, size: int, seconds: float) -> None:
        # Whoever was answered asks again at once, or not at all: a group of the first of them would be a small one.
        with self._change:
            if size > 1 and len(self._waiting) < size and not self._closed:
                self._enough = size
                self._change.wait(seconds)
                self._enough = 1

    def _next_group(self) -> list[GroupedCall]:
        with self._change:
            while not self._waiting:
                if self._closed or not (self._change.wait(IDLE_SECONDS) or self._waiting):
                    self._writer = None
                    return []
            return self._taken()

    def _taken(self) -> list[GroupedCall]:
        calls: list[GroupedCall] = []
        cost = 0
        while self._waiting and len(calls) < MAX_CALLS_PER_TRANSACTION and cost < MAX_COST_PER_TRANSACTION:
            calls.append(self._waiting.popleft())
            cost += calls[-1].group_key.cost
        return calls
