"""History of operations for a consistency checker: each invocation, and how it ended (ok, no, unknown).

Switched on by `Engine(history=…)` or ROWLOCK_HISTORY=FILE; one JSON line per event, appended by one write, so that
many processes can share a file. Only a kill can cut a line short: then the next event follows on the same line.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rowlock.errors import OutcomeUnknown, RowlockError

T = TypeVar("T")
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


class History(msgspec.Struct, frozen=True):
    """Writes each operation's invocation and end to a sink."""

    sink: Sink
    monotonic: Callable[[], float]

    def record(self, name: str, arguments: dict[str, Any], *, call: Callable[[], T]) -> T:
        """Do the call and return its answer; write its invocation, and how it ended."""
        self._write("invoke", name, arguments=arguments)
        try:
            answer = call()
        except RowlockError as error:
            self._write("unknown" if isinstance(error, OutcomeUnknown) else "no", name, code=error.code)
            raise
        except BaseException as error:
            # Interrupted: it may or may not have committed.
            self._write("unknown", name, code=type(error).__name__)
            raise
        self._write("ok", name, answer=answer)
        return answer

    def _write(self, phase: str, name: str, **more: Any) -> None:
        process, thread = os.getpid(), threading.get_ident()
        at = self.monotonic()
        self.sink({"at": at, "phase": phase, "operation": name, "process": process, "thread": thread, **more})
