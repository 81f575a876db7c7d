"""A database for one test: a SQLite file in a temporary folder, gone afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowlock.engine import Engine


@contextmanager
def throwaway(**options: Any) -> "Iterator[Engine]":
    """An engine on a SQLite file of its own, which is removed at the end; options are those of `Engine`."""
    from tempfile import TemporaryDirectory  # a plugin that nobody uses must cost nothing

    from rowlock.engine import Engine

    with (
        TemporaryDirectory(prefix="rowlock-", ignore_cleanup_errors=True) as folder,
        Engine(str(Path(folder, "throwaway.db")), **options) as engine,
    ):
        yield engine
