"""Files for what commands write: deleted when it has been shown, or kept in a folder."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from rowlock import json_codec
from rowlock.errors import Invalid
from rowlock.model import Item

STDERR_TAIL_BYTES = 4096
MAX_RESULT_BYTES = 32 * 1024
"""How much of a command's output can be its result: as JSON text it is still less than the data of an item may have."""
_MAX_NAME_BYTES = 180
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|%+]|^\.')


def safe_name(key: str) -> str:
    """Return a file name for a key: readable, never a path, and different for each key."""
    name = _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", key)
    if len(name.encode()) <= _MAX_NAME_BYTES:
        return name
    digest = blake2b(key.encode(), digest_size=8).hexdigest()
    return f"{name.encode()[:_MAX_NAME_BYTES].decode(errors='ignore')}%-{digest}"


def tail(path: str, limit: int = STDERR_TAIL_BYTES) -> str:
    """Return the last few kilobytes of a file as text; nothing if it is gone."""
    with suppress(OSError), Path(path).open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - limit))
        return file.read().decode(errors="replace").strip()
    return ""


def printed_result(path: str) -> Any:
    """Return what a command printed: the value of a JSON object or array, else the end of its text, or None."""
    text = tail(path, MAX_RESULT_BYTES)
    if text.startswith(("{", "[")):
        with suppress(msgspec.DecodeError, RecursionError, Invalid):
            value = msgspec.json.decode(text)
            json_codec.encode(value, "the result")  # refuses what could not be stored
            return value
    return text or None


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
