"""The writer: one thread to a database that does what all others ask for, group by group."""

import os
import threading
from collections import deque
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from rowlock.db import Database
from rowlock.db.database import Verb
from rowlock.errors import InvalidTransaction, Unavailable
from rowlock.grouping.askers import Awaiting, Blocked, Mailbox, Promised
from rowlock.grouping.beside import Beside
from rowlock.grouping.calls import Call, placing
from rowlock.grouping.transactions import answer

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

P = ParamSpec("P")
T = TypeVar("T")

LARGEST = 512
"""Calls in one transaction."""
HEAVIEST = 5_000
"""Things that the calls of one transaction touch."""
IDLE = 5.0
"""Seconds without a call after which the writer's thread ends; the next call begins another."""
LINGER = 0.25
"""The share of its last transaction's time that a busy writer waits for those it has just answered to come back."""
LONGEST_LINGER = 0.001
LOCK_SECONDS = 0.1
"""How long a group waits for what others have locked; less than it takes PostgreSQL to look for a deadlock."""


class Grouping:
    """One writer for a database and those who wait for it.

    The first to come goes at once; those who come while a transaction runs are the next group.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._waiting: deque[Call] = deque()
        self._change = threading.Condition(threading.Lock())
        self._enough = 1
        self._writer: threading.Thread | None = None
        self._own = self._database.twin(connections=1, lock_seconds=LOCK_SECONDS)
        self._beside = Beside(self._database)
        self._mailbox: Mailbox | None = None
        self._mailboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, Mailbox] = WeakKeyDictionary()
        self._closed = False

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes among those of others, and wait for its answer."""
        self._database.check_turn()
        if self._writer is threading.current_thread():
            raise InvalidTransaction("the writer of a group cannot wait for itself", "ask from another thread")
        asker = Blocked()
        call = Call(verb, args, kwargs, placing(verb).where(*args, **kwargs), asker)
        if call.place.apart:
            return self._database.run(verb, *args, **kwargs)
        try:
            self._take(call)
            result: T = asker.wait()
        finally:
            asker.leave()
        return result

    def ask(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """The same without waiting: cancelled before its transaction has begun, it is not run."""
        from concurrent.futures import Future  # heavy, and only who asks needs it

        future: Future[T] = Future()
        self._take(Call(verb, args, kwargs, placing(verb).where(*args, **kwargs), Promised(future)))
        return future

    def awaited(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        """The same for a coroutine: await it. Far cheaper than to wrap what `ask` gives."""
        from asyncio import get_running_loop  # heavy, and only coroutines need it

        loop = get_running_loop()
        mailbox = self._mailbox
        if mailbox is None or mailbox.loop is not loop:
            mailbox = self._mailbox = self._mailboxes.setdefault(loop, Mailbox(loop))
        future: asyncio.Future[T] = loop.create_future()
        asker = Awaiting(mailbox, future)
        self._take(Call(verb, args, kwargs, placing(verb).where(*args, **kwargs), asker))
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
        self._beside.close()
        self._own.close()

    def _take(self, call: Call) -> None:
        if self._process != os.getpid():
            self._begin()  # a fork's child has neither the thread nor those who wait
        with self._change:
            if self._closed:
                raise Unavailable("this engine has been closed", "open another one")
            if call.place.apart:
                self._beside.take(call)
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
            start = self._database.world.monotonic()
            rest = answer(self._own, calls)
            with self._change:
                self._waiting.extendleft(reversed(rest.left))
            for call in rest.stuck:
                self._beside.take(call)
            took = self._database.world.monotonic() - start
            self._linger(len(calls), min(LONGEST_LINGER, LINGER * took))

    def _linger(self, size: int, seconds: float) -> None:
        # Whoever was answered asks again at once, or not at all: a group of the first of them would be a small one.
        with self._change:
            if size > 1 and len(self._waiting) < size and not self._closed:
                self._enough = size
                self._change.wait(seconds)
                self._enough = 1

    def _next_group(self) -> list[Call]:
        with self._change:
            while not self._waiting:
                if self._closed or not (self._change.wait(IDLE) or self._waiting):
                    self._writer = None
                    return []
            return self._taken()

    def _taken(self) -> list[Call]:
        calls: list[Call] = []
        weight = 0
        while self._waiting and len(calls) < LARGEST and (not calls or weight < HEAVIEST):
            calls.append(self._waiting.popleft())
            weight += calls[-1].place.weight
        return calls
