"""Outputs: what a command writes goes to files of its own, and is shown whole when it has ended."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO

from rowlock.model import Item

TAIL = 4096
_LONGEST_NAME = 180
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|%+]|^\.')

Written = tuple[IO[bytes], IO[bytes]]


def safe_name(key: str) -> str:
    """A file's name for a key: readable, never a path, and no two keys have the same."""
    name = _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", key)
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    digest = blake2b(key.encode(), digest_size=8).hexdigest()
    return f"{name.encode()[:_LONGEST_NAME].decode(errors='ignore')}%-{digest}"


def tail(file: IO[bytes]) -> str:
    """The last few kilobytes that were written, as text."""
    file.seek(max(0, file.seek(0, 2) - TAIL))
    return file.read().decode(errors="replace").strip()


class OutputCapture:
    """Gives each command two files, for stdout and stderr: kept in a folder, or gone when they are closed."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @contextmanager
    def files(self, items: Sequence[Item]) -> Iterator[Written]:
        """The two files for a command that runs for these items; a batch is named by its first."""
        with ExitStack() as stack:
            if self._folder is None:
                yield stack.enter_context(tempfile.TemporaryFile()), stack.enter_context(tempfile.TemporaryFile())
                return
            name = safe_name(items[0].key) + (f"+{len(items) - 1}" if len(items) > 1 else "")
            out, error = (stack.enter_context((self._folder / f"{name}.{end}").open("w+b")) for end in ("out", "err"))
            yield out, error
