"""The process pool: for handlers that need a core each. A process that times out or dies is replaced."""

import multiprocessing
import threading
from multiprocessing.connection import Connection
from pickle import PickleError, dumps, loads
from typing import Any

from rowlock.model import Item
from rowlock.outcomes import Outcome, Retry, error_text, from_exception, from_return_value
from rowlock.worker.settler import InFlightClaim

_SPAWN = multiprocessing.get_context("spawn")  # a fork would copy our threads' locks in whatever state they are

START_TIMEOUT_SECONDS = 60.0
"""Within it a process must have begun with its first item."""


Answer = tuple[Outcome, BaseException | None]
"""The outcome of an item, and what the handler raised."""


def _serve(pipe: Connection) -> None:
    while (work := pipe.recv()) is not None:
        function, item = work
        pipe.send(None)  # begun: the time to start and to import the handler does not count
        answer: Answer
        try:
            answer = from_return_value(function(item)), None
        except Exception as error:
            answer = from_exception(error), _sendable(error)
        pipe.send(answer)


def _sendable(error: Exception) -> Exception:
    """Return an exception that survives the pipe: itself, or one with its text."""
    try:
        loads(dumps(error))  # noqa: S301
    except Exception:  # an exception of somebody else's may do anything
        return RuntimeError(f"{type(error).__name__}: {error_text(error)}")
    return error


class _Child:
    """One process and the pipe to it."""

    def __init__(self) -> None:
        self.pipe, child_end = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_serve, args=(child_end,), daemon=True)
        self.process.start()
        child_end.close()

    def run(self, function: Any, item: Item, timeout: float | None) -> Answer:
        """Run the function there and return the outcome and what it raised.

        TimeoutError if it is late, EOFError if the process has died.
        """
        self.pipe.send((function, item))
        if not self.pipe.poll(START_TIMEOUT_SECONDS):
            raise TimeoutError
        self.pipe.recv()
        if not self.pipe.poll(timeout):
            raise TimeoutError
        answer: Answer = self.pipe.recv()
        return answer

    def exit_code(self) -> int | None:
        """Return the exit code of a process that has died."""
        self.process.join(1)
        return self.process.exitcode

    def kill(self) -> None:
        """End it now."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class ProcessPool:
    """Gives each thread of the pool that needs one a process of its own."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._children: list[_Child] = []

    def run(self, claim: InFlightClaim, item: Item) -> Outcome:
        """Run the handler for one item in this thread's process."""
        try:
            outcome, raised = self._child().run(claim.handler.function, item, claim.handler.timeout)
        except TimeoutError:
            self._replace()
            return claim.timed_out(item)
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            what = f"the handler's process died (exit {self._child().exit_code()})"
            self._replace()
            return claim.failed(error, item, outcome=Retry(what, kind="process died"))
        except (AttributeError, PickleError, TypeError, ValueError) as error:  # it cannot be sent to another process
            return claim.failed(error, item)
        if raised is None or not isinstance(outcome, Retry):
            return outcome
        return claim.failed(raised, item, outcome=outcome)

    def _child(self) -> _Child:
        child: _Child | None = getattr(self._own, "child", None)
        if child is None:
            child = self._own.child = _Child()
            self._children.append(child)
        return child

    def _replace(self) -> None:
        child = self._own.child
        self._children.remove(child)
        child.kill()
        self._own.child = None

    def shutdown(self) -> None:
        """End all processes."""
        for child in self._children:
            child.kill()
        self._children.clear()
