"""History of operations for a consistency checker: each invocation, and how it ended (ok, no, unknown).

Switched on by `Engine(history=…)` or ROWLOCK_HISTORY=FILE; one JSON line per event, appended by one write, so that
many processes can share a file. Only a kill can cut a line short: then the next event follows on the same line.
"""

import os
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rowlock.errors import OutcomeUnknown, RowlockError

T = TypeVar("T")
F = TypeVar("F", bound=Any)
"""A future, of threads or of asyncio."""
Sink = Callable[[dict[str, Any]], None]


def to_file(path: str | Path) -> Sink:
    """Return a sink that appends events to a file as lines."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(event: dict[str, Any]) -> None:
        os.write(descriptor, _line(event) + b"\n")

    return write


def _line(event: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(event, enc_hook=str)
    except UnicodeEncodeError:
        # The arguments hold lone surrogates, in a file's name perhaps.
        return msgspec.json.encode({**event, "arguments": ascii(event.get("arguments"))}, enc_hook=str)


class RecordedCall(msgspec.Struct, frozen=True):
    """An operation that was written to the history and has not ended yet."""

    history: "History"
    name: str
    call: int

    def ok(self, answer: Any) -> None:
        """Write that it has ended well."""
        self.end("ok", answer=answer)

    def failed(self, error: BaseException) -> None:
        """Write how it has ended: `no` if it has certainly changed nothing."""
        if isinstance(error, RowlockError):
            phase = "unknown" if isinstance(error, OutcomeUnknown) else "no"
            self.end(phase, code=error.code)
        else:
            # Interrupted: it may or may not have committed.
            self.end("unknown", code=type(error).__name__)

    def end(self, phase: str, **more: Any) -> None:
        """Write how it has ended: ok, no or unknown."""
        self.history.write(phase, self.name, call=self.call, **more)


class History(msgspec.Struct, frozen=True):
    """Writes each operation's invocation and end to a sink. The two have the same number, `call`, in their process."""

    sink: Sink
    monotonic: Callable[[], float]
    calls: Iterator[int] = msgspec.field(default_factory=lambda: count(1))

    def record(self, name: str, arguments: dict[str, Any], *, call: Callable[[], T]) -> T:
        """Do the call and return its answer; write its invocation, and how it ended."""
        invocation = self.invoke(name, arguments)
        try:
            answer = call()
        except BaseException as error:
            invocation.failed(error)
            raise
        invocation.ok(answer)
        return answer

    def invoke(self, name: str, arguments: dict[str, Any]) -> RecordedCall:
        """Write that an operation begins; the caller writes its end."""
        invocation = RecordedCall(self, name, next(self.calls))
        self.write("invoke", name, call=invocation.call, arguments=arguments)
        return invocation

    def future(self, name: str, arguments: dict[str, Any], *, ask: Callable[[], F]) -> F:
        """Ask for something that ends later, and write its end then."""
        invocation = self.invoke(name, arguments)
        asked = ask()
        asked.add_done_callback(lambda done: _write_end(invocation, done))
        return asked

    def write(self, phase: str, name: str, *, call: int, **more: Any) -> None:
        """Write an event."""
        who = {"process": os.getpid(), "thread": threading.get_ident(), "call": call}
        self.sink({"at": self.monotonic(), "phase": phase, "operation": name, **who, **more})


def _write_end(call: RecordedCall, done: Any) -> None:
    if done.cancelled():
        call.end("unknown", code="cancelled")
    elif (error := done.exception()) is not None:
        call.failed(error)
    else:
        call.ok(done.result())


class TransactionRecord:
    """The verbs of a transaction: written to the history before it commits, and then how that ended.

    So a process that is killed between the two leaves a transaction whose outcome is unknown.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._works: list[dict[str, Any]] = []
        self._invocation: RecordedCall | None = None

    def __enter__(self) -> "TransactionRecord":
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        if self._invocation is None:
            return
        if error is None:
            self._invocation.ok([work["answer"] for work in self._works])
        else:
            self._invocation.failed(error)

    def add(self, verb: str, *, args: tuple[Any, ...], kwargs: dict[str, Any], answer: Any) -> None:
        """Note a verb that has run in the transaction."""
        self._works.append({"verb": verb, "args": args, "kwargs": kwargs, "answer": answer})

    def commits(self) -> None:
        """Write the verbs: the transaction is about to commit."""
        if self._works:
            self._invocation = self._history.invoke("transaction", {"works": self._works})


class JoinedRecord(TransactionRecord):
    """The verbs in a transaction of the caller's, whose end is not seen here: the outcome of each is unknown."""

    def add(self, verb: str, *, args: tuple[Any, ...], kwargs: dict[str, Any], answer: Any) -> None:
        """Write a verb that has run in the transaction."""
        work = {"verb": verb, "args": args, "kwargs": kwargs, "answer": answer}
        self._history.invoke("transaction", {"works": [work]}).end("unknown", code="joined")
