"""The screen of a command that works: outputs whole, one after the other, and below them a line that moves."""

import os
import threading
from typing import IO

STDOUT, STDERR = 1, 2
CHUNK = 64 * 1024
_CLEARED = "\r\x1b[K"


class Screen:
    """Writes from many threads, and from a signal's handler: straight to the streams, nothing is kept back."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._lock = threading.RLock()  # a signal may come while its own thread is writing
        self._line = ""
        self._unended: set[int] = set()

    def show(self, out: IO[bytes], error: IO[bytes]) -> None:
        """What one command wrote, whole: no other output comes between, nor on its last line."""
        with self._lock:
            self._clear()
            self._copy(out, STDOUT)
            self._copy(error, STDERR)
            self._redraw()

    def say(self, words: str) -> None:
        """Words for a person, on a line of their own; nothing when asked to be quiet."""
        if not self._quiet:
            self.write(words)

    def write(self, words: str) -> None:
        """The same, in any case."""
        with self._lock:
            self._clear()
            self._end_line(STDERR)
            _put(STDERR, f"{words}\n".encode(errors="backslashreplace"))
            self._redraw()

    def draw(self, line: str) -> None:
        """The line that moves, in place of the one before; an empty one takes it away."""
        with self._lock:
            self._clear()
            self._line = line
            self._redraw()

    def _clear(self) -> None:
        if self._line:
            _put(STDERR, _CLEARED.encode())

    def _redraw(self) -> None:
        if self._line:
            self._end_line(STDERR)
            _put(STDERR, self._line.encode())

    def _copy(self, file: IO[bytes], stream: int) -> None:
        while chunk := file.read(CHUNK):
            self._end_line(stream)
            _put(stream, chunk)
            last = chunk
        if file.tell() and not last.endswith(b"\n"):
            self._unended.add(stream)

    def _end_line(self, stream: int) -> None:
        if stream in self._unended:
            self._unended.remove(stream)
            _put(stream, b"\n")


def _put(stream: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(stream, rest) :]
