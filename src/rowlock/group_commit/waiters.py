"""Waiters for an answer: a blocked thread, a future, a coroutine. Waking one is the costliest part of a small write."""

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future


class ThreadWaiter:
    """A thread that blocks until the answer is there."""

    def __init__(self) -> None:
        self._answered = threading.Lock()
        self._answered.acquire()
        self._wanted = True
        self._answer: Any = None

    def is_waiting(self) -> bool:
        """Return whether the thread still waits."""
        return self._wanted

    def resolve(self, answer: Any) -> None:
        """Wake the thread."""
        self._answer = answer
        self._answered.release()

    def wait(self) -> Any:
        """Block until the answer is there; return or raise it."""
        self._answered.acquire()
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer

    def leave(self) -> None:
        """Want no answer any more: the thread was interrupted."""
        self._wanted = False


class FutureWaiter:
    """A `concurrent.futures.Future`."""

    def __init__(self, future: "Future[Any]") -> None:
        self._future = future

    def is_waiting(self) -> bool:
        """Return whether the future was not cancelled."""
        return self._future.running() or self._future.set_running_or_notify_cancel()

    def resolve(self, answer: Any) -> None:
        """Set the future's result or exception."""
        if isinstance(answer, BaseException):
            self._future.set_exception(answer)
        else:
            self._future.set_result(answer)


class LoopMailbox:
    """Answers for the coroutines of one event loop, which is woken once for all that have come."""

    def __init__(self, loop: "asyncio.AbstractEventLoop") -> None:
        self.loop = loop
        self._answers: deque[tuple[asyncio.Future[Any], Any]] = deque()

    def post(self, future: "asyncio.Future[Any]", answer: Any) -> None:
        """Leave an answer, from any thread."""
        self._answers.append((future, answer))
        if len(self._answers) == 1:
            try:
                self.loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop has ended, and with it all coroutines that waited
                self._answers.clear()

    def _deliver(self) -> None:
        while self._answers:
            future, answer = self._answers.popleft()
            if future.done():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)


class LoopWaiter:
    """A coroutine that awaits the answer."""

    def __init__(self, mailbox: LoopMailbox, future: "asyncio.Future[Any]") -> None:
        self._mailbox = mailbox
        self._future = future

    def is_waiting(self) -> bool:
        """Return whether the coroutine still awaits."""
        return not self._future.cancelled()

    def resolve(self, answer: Any) -> None:
        """Send the answer to the event loop."""
        self._mailbox.post(self._future, answer)
