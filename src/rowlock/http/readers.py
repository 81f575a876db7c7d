"""Readers: a few threads that run what coroutines want to know, several questions at a time.

To hand one question to a thread costs more than to answer it. So one thread takes all that wait; another one helps
only when many do, or when nothing was answered for a moment; and the event loop is woken once for all the answers.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

from rowlock.db.database import Verb
from rowlock.engine import Engine
from rowlock.group_commit.waiters import LoopMailbox

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8
AT_ONCE = 32
"""Questions that one thread takes on; when more wait, another one helps."""
STUCK = 0.005
"""Seconds without an answer after which another thread helps: somebody asks for something long."""
LINGER, LONGEST_LINGER = 0.25, 0.001
"""The share of the time of its last answers that a busy thread waits for those it has answered to come back."""

Question = tuple["asyncio.Future[Any]", Callable[[], Any]]


class Readers:
    """Threads that read, begun when needed."""

    def __init__(self, engine: Engine, threads: int = THREADS) -> None:
        self._engine = engine
        self._size = threads
        self._waiting: deque[Question] = deque()
        self._change = threading.Condition(threading.Lock())
        self._threads: list[threading.Thread] = []
        self._busy = 0
        self._enough = 1
        self._answered = 0
        self._closed = False
        self._mailbox: LoopMailbox | None = None
        self._watching = False

    def awaited(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        """Run a verb that only reads; await the answer."""
        loop = asyncio.get_running_loop()
        if self._mailbox is None:
            self._mailbox = LoopMailbox(loop)
        future: asyncio.Future[T] = loop.create_future()
        with self._change:
            self._waiting.append((future, partial(self._engine.read, verb, *args, **kwargs)))
            if not self._busy or len(self._waiting) >= max(self._enough, AT_ONCE * self._busy):
                self._help()
        if not self._watching:
            self._watching = True
            loop.call_later(STUCK, self._watch, loop, self._answered)
        return future

    def _watch(self, loop: asyncio.AbstractEventLoop, answered: int) -> None:
        """If nobody was answered since, somebody asks for something long: let another thread help."""
        with self._change:
            if self._waiting and self._answered == answered:
                self._help()
            self._watching = bool(self._waiting or self._busy)
        if self._watching:
            loop.call_later(STUCK, self._watch, loop, self._answered)

    def _help(self) -> None:
        if self._busy < len(self._threads):
            self._change.notify()
        elif len(self._threads) < self._size:
            self._busy += 1
            thread = threading.Thread(target=self._work, name="rowlock reader", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while questions := self._next():
            start = time.perf_counter()
            for future, question in questions:
                if not future.cancelled():
                    self._answer(future, question)
            self._answered += len(questions)
            if len(questions) > 1:
                self._linger(len(questions), LINGER * (time.perf_counter() - start))

    def _linger(self, size: int, seconds: float) -> None:
        # Whoever was answered asks again at once, or not at all.
        with self._change:
            if len(self._waiting) < size and not self._closed:
                self._enough = size
                self._change.wait(min(LONGEST_LINGER, seconds))
                self._enough = 1

    def _next(self) -> list[Question]:
        with self._change:
            while not self._waiting and not self._closed:
                self._busy -= 1
                self._change.wait()
                self._busy += 1
            return [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]

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
