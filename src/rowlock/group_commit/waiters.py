"""Askers: a thread that blocks, a future, a coroutine. Waking one is the dearest part of a small write."""

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future


class ThreadWaiter:
    """A thread that waits here."""

    def __init__(self) -> None:
        self._told = threading.Lock()
        self._told.acquire()
        self._wanted = True
        self._answer: Any = None

    def is_waiting(self) -> bool:
        """Whether the thread still waits."""
        return self._wanted

    def resolve(self, answer: Any) -> None:
        """Let it go on."""
        self._answer = answer
        self._told.release()

    def wait(self) -> Any:
        """The answer, when it is there."""
        self._told.acquire()
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer

    def leave(self) -> None:
        """It was interrupted, and wants no answer any more."""
        self._wanted = False


class FutureWaiter:
    """A future for whoever looks at it."""

    def __init__(self, future: "Future[Any]") -> None:
        self._future = future

    def is_waiting(self) -> bool:
        """Whether nobody has cancelled it."""
        return self._future.running() or self._future.set_running_or_notify_cancel()

    def resolve(self, answer: Any) -> None:
        """Fulfil it."""
        if isinstance(answer, BaseException):
            self._future.set_exception(answer)
        else:
            self._future.set_result(answer)


class LoopMailbox:
    """Answers for the coroutines of one event loop: it is woken once for all that have come."""

    def __init__(self, loop: "asyncio.AbstractEventLoop") -> None:
        self.loop = loop
        self._letters: deque[tuple[asyncio.Future[Any], Any]] = deque()

    def post(self, future: "asyncio.Future[Any]", answer: Any) -> None:
        """Leave an answer, from any thread."""
        self._letters.append((future, answer))
        if len(self._letters) == 1:
            try:
                self.loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop has ended, and with it all who waited
                self._letters.clear()

    def _deliver(self) -> None:
        while self._letters:
            future, answer = self._letters.popleft()
            if future.done():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)


class LoopWaiter:
    """A coroutine that awaits."""

    def __init__(self, mailbox: LoopMailbox, future: "asyncio.Future[Any]") -> None:
        self._mailbox = mailbox
        self._future = future

    def is_waiting(self) -> bool:
        """Whether it still awaits."""
        return not self._future.cancelled()

    def resolve(self, answer: Any) -> None:
        """Send it the answer."""
        self._mailbox.post(self._future, answer)
