"""History of operations for a consistency checker: each invocation, and how it ended (ok, no, unknown).

Switched on by `Engine(history=…)` or ROWLOCK_HISTORY=FILE; one JSON line per event, appended by one write, so that
many processes can share a file. Only a kill can cut a line short: then the next event follows on the same line.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from rowlock.errors import OutcomeUnknown, RowlockError

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


class History:
    """Writes each operation's invocation and end to a sink; without one it costs nothing."""

    def __init__(self, sink: Sink | None, monotonic: Callable[[], float]) -> None:
        self._sink = sink
        self._monotonic = monotonic

    @property
    def enabled(self) -> bool:
        """Whether anything is written."""
        return self._sink is not None

    @contextmanager
    def operation(self, name: str, arguments: dict[str, Any]) -> Iterator[Callable[[Any], None]]:
        """Record one operation: call what this yields with its answer, or let its error through."""
        if self._sink is None:
            yield _forget
            return
        who = {"process": os.getpid(), "thread": threading.get_ident()}
        answer: list[Any] = []
        self._write("invoke", name, {**who, "arguments": arguments})
        try:
            yield answer.append
        except RowlockError as error:
            self._write("unknown" if isinstance(error, OutcomeUnknown) else "no", name, {**who, "code": error.code})
            raise
        except BaseException as error:
            # Interrupted: it may or may not have committed.
            self._write("unknown", name, {**who, "code": type(error).__name__})
            raise
        self._write("ok", name, {**who, "answer": answer[0] if answer else None})

    def _write(self, phase: str, name: str, more: dict[str, Any]) -> None:
        assert self._sink is not None  # noqa: S101
        self._sink({"at": self._monotonic(), "phase": phase, "operation": name, **more})


def _forget(_: Any) -> None:
    pass
