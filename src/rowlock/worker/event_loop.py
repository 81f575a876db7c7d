"""The event loop: one thread that runs all async handlers."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rowlock.model import Item
from rowlock.outcomes import Outcome, from_return_value
from rowlock.worker.handlers import Turn
from rowlock.worker.settler import InFlightClaim
from rowlock.worker.thread_pool import Finish

END_SECONDS = 5.0
"""How long the end of cancelled tasks may take."""


class EventLoop:
    """Runs `async def` handlers, each as a task, up to `size` at once; a timeout cancels the task."""

    def __init__(self, size: int, *, finish: Finish, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._size = size
        self._finish = finish
        self._loop = asyncio.new_event_loop() if loop is None else loop
        self._queue: deque[tuple[InFlightClaim, Item]] = deque()
        self._tasks: dict[asyncio.Task[None], InFlightClaim] = {}
        self._thread: threading.Thread | None = None
        """The thread of a loop of its own; None if the loop is the caller's."""
        if loop is None:
            self._thread = threading.Thread(target=self._serve, name="rowlock event loop", daemon=True)
            self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def submit(self, claim: InFlightClaim) -> None:
        """Run a claim item by item, each in a task; in the worker's thread."""
        first = claim.next_item() if claim.in_order else None
        self._queue.extend((claim, item) for item in (claim.items if first is None else [first]))
        self._loop.call_soon_threadsafe(self._start_tasks)

    def _start_tasks(self) -> None:
        while len(self._tasks) < self._size:
            try:
                claim, item = self._queue.popleft()
            except IndexError:
                return
            if not claim.cancelled.is_set():
                task = self._loop.create_task(self._run(claim, item))
                self._tasks[task] = claim
                task.add_done_callback(self._end_task)

    def _end_task(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._start_tasks()

    async def _run(self, claim: InFlightClaim, item: Item) -> None:
        try:
            if claim.spans is None:
                outcome = await self._call(claim, item)
            else:
                with claim.spans.of_item(item) as ended:
                    outcome = await self._call(claim, item)
                    ended(outcome)
        except asyncio.CancelledError as error:
            if claim.cancelled.is_set():
                return  # the session is lost or the worker stops: there is nothing to settle
            outcome = claim.failed(error, item)
        self._finish(claim, item, outcome)
        if claim.in_order and (following := claim.next_item()) is not None:
            self._queue.append((claim, following))

    async def _call(self, claim: InFlightClaim, item: Item) -> Outcome:
        if claim.before is not None:
            claim.before(item)
        handler = claim.handler
        arguments: tuple[Any, ...] = (item,)
        if handler.arguments == 2:
            arguments = (item, Turn(claim.token, threading.Event()))
        try:
            async with asyncio.timeout(handler.timeout) as limit:
                return from_return_value(await handler.function(*arguments))
        except TimeoutError as error:
            if limit.expired():
                return claim.timed_out(item)
            return claim.failed(error, item)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # an escaping exception would end the event loop
            return claim.failed(error, item)

    def cancel(self, claim: InFlightClaim | None = None) -> None:
        """Cancel the tasks of a claim, or all."""
        self._loop.call_soon_threadsafe(self._cancel, claim)

    def _cancel(self, claim: InFlightClaim | None) -> None:
        for task, of in list(self._tasks.items()):
            if claim is None or of is claim:
                task.cancel()

    def return_unstarted(self) -> None:
        """Give back what no task has begun; in the worker's thread."""
        while True:
            try:
                claim, _ = self._queue.popleft()
            except IndexError:
                return
            claim.returned += 1

    def shutdown(self) -> None:
        """Cancel what still runs and wait for its end; end the thread."""
        self._queue.clear()
        if self._thread is None:
            with suppress(RuntimeError, TimeoutError):  # the caller's loop is closed, or a task goes on all the same
                asyncio.run_coroutine_threadsafe(self._end_tasks(), self._loop).result(END_SECONDS)
            return
        self.cancel()
        self._loop.call_soon_threadsafe(self._loop.call_soon, self._loop.stop)
        self._thread.join(timeout=END_SECONDS)

    async def _end_tasks(self) -> None:
        self._cancel(None)
        if self._tasks:
            await asyncio.wait(list(self._tasks))


async def run_in_loop(run: Callable[[], None], stop: Callable[..., None]) -> None:
    """Run a worker in a thread beside the running loop; a cancellation stops it gently, a second one at once."""
    work = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        stop()
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            stop(now=True)
            await asyncio.wait([work])
        raise
