"""A database for one test: a SQLite file in a temporary folder, removed afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowlock.engine import Engine


@contextmanager
def throwaway(**options: Any) -> "Iterator[Engine]":
    """Open an engine on a SQLite file of its own, removed at the end; options are those of `Engine`."""
    from tempfile import TemporaryDirectory  # an unused pytest plugin must cost nothing

    from rowlock.engine import Engine

    with (
        TemporaryDirectory(prefix="rowlock-", ignore_cleanup_errors=True) as folder,
        Engine(str(Path(folder, "throwaway.db")), **options) as engine,
    ):
        yield engine
