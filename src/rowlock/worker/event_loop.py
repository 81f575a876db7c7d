"""The event loop: one thread that runs all async handlers."""

import asyncio
import threading
from typing import Any

from rowlock.model import Item
from rowlock.outcomes import Outcome, Retry, from_exception, from_return_value
from rowlock.worker.handlers import Turn
from rowlock.worker.in_flight import InFlightClaim
from rowlock.worker.thread_pool import Finish


class EventLoop:
    """Runs `async def` handlers, each as a task; a timeout cancels the task."""

    def __init__(self, *, finish: Finish) -> None:
        self._finish = finish
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[asyncio.Task[None], InFlightClaim] = {}
        self._thread = threading.Thread(target=self._serve, name="rowlock event loop", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def submit(self, claim: InFlightClaim) -> None:
        """Start a task per item of the claim, or one for all if they are worked in order."""
        self._loop.call_soon_threadsafe(self._start, claim)

    def _start(self, claim: InFlightClaim) -> None:
        runs = [self._run_in_order(claim)] if claim.in_order else [self._run(claim, item) for item in claim.items]
        for run in runs:
            task = self._loop.create_task(run)
            self._tasks[task] = claim
            task.add_done_callback(self._tasks.pop)

    async def _run_in_order(self, claim: InFlightClaim) -> None:
        while not claim.cancelled.is_set() and (item := claim.next_item()) is not None:
            await self._run(claim, item)

    async def _run(self, claim: InFlightClaim, item: Item) -> None:
        try:
            outcome = await self._traced(claim, item)
        except asyncio.CancelledError as error:
            if claim.cancelled.is_set():
                return  # the session is lost or the worker stops: there is nothing to settle
            outcome = from_exception(error)
        self._finish(claim, item, outcome)

    async def _traced(self, claim: InFlightClaim, item: Item) -> Outcome:
        if claim.spans is None:
            return await self._outcome(claim, item)
        with claim.spans.of_item(item) as ended:
            outcome = await self._outcome(claim, item)
            ended(outcome)
        return outcome

    async def _outcome(self, claim: InFlightClaim, item: Item) -> Outcome:
        claim.begin(item)
        handler = claim.handler
        arguments: tuple[Any, ...] = (item,)
        if handler.arguments == 2:
            arguments = (item, Turn(claim.token, threading.Event()))
        try:
            if handler.timeout is None:
                return from_return_value(await handler.function(*arguments))
            async with asyncio.timeout(handler.timeout) as limit:
                return from_return_value(await handler.function(*arguments))
        except TimeoutError as error:
            if handler.timeout is not None and limit.expired():
                return Retry(f"timed out after {handler.timeout:g}s", kind="timeout")
            return from_exception(error)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # an escaping exception would end the event loop
            return from_exception(error)

    def cancel(self, claim: InFlightClaim | None = None) -> None:
        """Cancel the tasks of a claim, or all."""
        self._loop.call_soon_threadsafe(self._cancel, claim)

    def _cancel(self, claim: InFlightClaim | None) -> None:
        for task, of in list(self._tasks.items()):
            if claim is None or of is claim:
                task.cancel()

    def shutdown(self) -> None:
        """Cancel what still runs and end the thread."""
        self.cancel()
        self._loop.call_soon_threadsafe(self._loop.call_soon, self._loop.stop)
        self._thread.join(timeout=5)
