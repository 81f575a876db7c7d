"""Readers: a few threads that run what coroutines want to know, several questions at a time.

To hand one question to a thread costs more than to answer it: whoever is free takes all that wait, and the event loop
is woken once for all the answers that have come.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

from rowlock.db.database import Verb
from rowlock.engine import Engine
from rowlock.grouping.waiters import Mailbox

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4
AT_ONCE = 16
"""Questions that one thread takes on: a long one among them keeps no more waiting than these."""


class Readers:
    """Threads that read, begun when needed."""

    def __init__(self, engine: Engine, threads: int = THREADS) -> None:
        self._engine = engine
        self._size = threads
        self._waiting: deque[tuple[asyncio.Future[Any], Callable[[], Any]]] = deque()
        self._change = threading.Condition(threading.Lock())
        self._threads: list[threading.Thread] = []
        self._free = 0
        self._closed = False
        self._mailbox: Mailbox | None = None

    def awaited(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        """Run a verb that only reads; await the answer."""
        loop = asyncio.get_running_loop()
        if self._mailbox is None:
            self._mailbox = Mailbox(loop)
        future: asyncio.Future[T] = loop.create_future()
        with self._change:
            self._waiting.append((future, partial(self._engine.read, verb, *args, **kwargs)))
            if self._free:
                self._change.notify()
            elif len(self._threads) < self._size:
                self._begin()
        return future

    def _begin(self) -> None:
        thread = threading.Thread(target=self._work, name="rowlock reader", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while questions := self._next():
            for future, question in questions:
                if not future.cancelled():
                    self._answer(future, question)

    def _next(self) -> list[tuple["asyncio.Future[Any]", Callable[[], Any]]]:
        with self._change:
            while not self._waiting and not self._closed:
                self._free += 1
                self._change.wait()
                self._free -= 1
            # A fair share: the others are about to take some too.
            share = min(AT_ONCE, -(-len(self._waiting) // self._size))
            return [self._waiting.popleft() for _ in range(share)]

    def _answer(self, future: "asyncio.Future[Any]", question: Callable[[], Any]) -> None:
        assert self._mailbox is not None  # noqa: S101
        try:
            answer = question()
        except BaseException as error:  # whatever it is, whoever asked must be told
            answer = error
        self._mailbox.post(future, answer)

    def close(self) -> None:
        """Answer what waits, and take no more."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        for thread in self._threads:
            thread.join()
