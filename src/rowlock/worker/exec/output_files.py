"""Files for what commands write: deleted when it has been shown, or kept in a folder."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from rowlock.model import Item

STDERR_TAIL_BYTES = 4096
_MAX_NAME_BYTES = 180
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|%+]|^\.')


def safe_name(key: str) -> str:
    """Return a file name for a key: readable, never a path, and different for each key."""
    name = _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", key)
    if len(name.encode()) <= _MAX_NAME_BYTES:
        return name
    digest = blake2b(key.encode(), digest_size=8).hexdigest()
    return f"{name.encode()[:_MAX_NAME_BYTES].decode(errors='ignore')}%-{digest}"


def tail(path: str) -> str:
    """Return the last few kilobytes of a file as text; nothing if it is gone."""
    with suppress(OSError), Path(path).open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - STDERR_TAIL_BYTES))
        return file.read().decode(errors="replace").strip()
    return ""


class OutputFiles:
    """Names of the files for the stdout and stderr of commands: temporary ones, or ones that are kept in a folder."""

    def __init__(self, kept: Path | None = None) -> None:
        self._kept = kept

    def paths(self, items: Sequence[Item], temporary: str) -> tuple[str, str]:
        """Return the two paths for a command; kept ones are new, and named by the list, the key and the attempt."""
        if self._kept is None:
            return f"{temporary}.out", f"{temporary}.err"
        first = items[0]
        folder = self._kept / safe_name(first.list)
        folder.mkdir(parents=True, exist_ok=True)
        name = safe_name(first.key) + (f"+and{len(items) - 1}" if len(items) > 1 else "")
        number = first.attempts + 1
        while not _created(out := folder / (name + (f"+{number}" if number > 1 else "") + ".out")):
            number += 1
        return str(out), str(out.with_suffix(".err"))

    def discard(self, paths: Sequence[str]) -> None:
        """Delete files that have been shown, unless they are kept."""
        for path in paths if self._kept is None else ():
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - once for each command


def _created(path: Path) -> bool:
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
