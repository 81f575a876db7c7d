"""inotify: wait for writes to a file without polling. A module of its own because ctypes is slow to import."""

import ctypes
import os
import select

IN_MODIFY = 0x2


class FileWatch:
    """Waits for writes to a file."""

    def __init__(self, path: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0 or libc.inotify_add_watch(self._descriptor, os.fsencode(path), IN_MODIFY) < 0:
            error = ctypes.get_errno()
            self.close()
            raise OSError(error, os.strerror(error), path)

    def wait(self, seconds: float) -> bool:
        """Wait up to so many seconds; return whether the file was written to."""
        poll = select.poll()  # select() takes no descriptor above 1,023
        poll.register(self._descriptor, select.POLLIN)
        if ready := poll.poll(1000 * max(0.0, seconds)):
            os.read(self._descriptor, 65_536)
        return bool(ready)

    def close(self) -> None:
        """Stop watching."""
        descriptor, self._descriptor = self._descriptor, -1  # first: after a second close it may be another file's
        if descriptor >= 0:
            os.close(descriptor)


def watch(path: str) -> FileWatch | None:
    """Return a watch on the file, or None where the system has no inotify: then the caller must poll."""
    try:
        return FileWatch(path)
    except (AttributeError, OSError):
        return None
