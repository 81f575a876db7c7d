"""Watching a file without asking again and again: inotify, where there is such a thing."""

import ctypes
import os
import select

IN_MODIFY = 0x2


class FileWatch:
    """Tells when a file is written to."""

    def __init__(self, path: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0 or libc.inotify_add_watch(self._descriptor, os.fsencode(path), IN_MODIFY) < 0:
            error = ctypes.get_errno()
            self.close()
            raise OSError(error, os.strerror(error), path)

    def wait(self, seconds: float) -> bool:
        """Wait up to that long; whether the file was written to."""
        ready, _, _ = select.select([self._descriptor], [], [], max(0.0, seconds))
        if ready:
            os.read(self._descriptor, 65_536)
        return bool(ready)

    def close(self) -> None:
        """Stop watching."""
        descriptor, self._descriptor = self._descriptor, -1  # first: closed twice, it may be another's by then
        if descriptor >= 0:
            os.close(descriptor)


def watch(path: str) -> FileWatch | None:
    """A watch on the file, or None where it cannot be had: then asking again and again must do."""
    try:
        return FileWatch(path)
    except (AttributeError, OSError):
        return None
