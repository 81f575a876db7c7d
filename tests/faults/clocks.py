"""A clock that jumps under running programs, by libfaketime; the clock that only counts seconds is left alone."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIBRARIES = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1")


class NoClock(Exception):
    """There is no libfaketime here; the message says what to do."""


class JumpingClock:
    """The clock of the programs that are started with `environment`."""

    def __init__(self, folder: Path) -> None:
        found = [path for pattern in LIBRARIES for path in Path("/").glob(pattern[1:])]
        if not found:
            raise NoClock("libfaketime is not installed; run: apt-get install faketime")
        self._file = folder / "offset"
        self.set(0)
        self.environment = {
            "LD_PRELOAD": str(found[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, seconds: int) -> None:
        """Set the clock forward or back from the true time."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+}s\n")
        new.chmod(0o644)
        new.replace(self._file)


@contextmanager
def jumping_clock() -> Iterator[JumpingClock]:
    """A clock for a test; other users may read it."""
    folder = Path(tempfile.mkdtemp(prefix="rowlock-clock-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield JumpingClock(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
