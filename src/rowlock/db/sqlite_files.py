"""Files of SQLite: made for their owner alone, and opened, also where they can only be read."""

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path

from rowlock.db import forks
from rowlock.db.urls import Address
from rowlock.errors import DatabaseUnreachable

OWNER_ALONE = stat.S_IRUSR | stat.S_IWUSR


def open_file(address: Address) -> sqlite3.Connection:
    """Open the file, and make it first if there is none; it may turn out later that it can only be read."""
    forks.check(address.target)
    file = Path(address.target)
    if file.is_dir():
        raise DatabaseUnreachable(f"{address.shown} is a directory", "name a file in it, such as rowlock.db")
    if not file.parent.is_dir():
        what = f"the folder of {address.shown} does not exist"
        raise DatabaseUnreachable(what, f"make it: mkdir -p '{file.parent}'")
    _make(file)
    return _connect(address.target)


def is_read_only(address: Address) -> bool:
    """Whether neither the file nor anything beside it can be written by us: a mount or a user that may only read."""
    file = Path(address.target)
    return file.is_file() and not os.access(file, os.W_OK) and not os.access(file.parent, os.W_OK)


def open_unchanging(address: Address) -> sqlite3.Connection:
    """Open a file that can only be read, where SQLite cannot make what it shares with other processes.

    It then reads without any lock: right only while nobody writes, so such a connection should not be kept.
    """
    file = Path(address.target)
    log = Path(f"{address.target}-wal")
    if log.is_file() and log.stat().st_size:
        what = f"{address.shown} cannot be read here: part of it is in {log.name}, and nothing can be written beside it"
        raise DatabaseUnreachable(what, f"copy {file.name} and {log.name} to a folder that can be written, open that")
    return _connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _connect(where: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(where, isolation_level=None, check_same_thread=False, cached_statements=256, uri=uri)


def _make(file: Path) -> None:
    # Without opening it: to close a descriptor of ours would drop all locks that SQLite has on the file meanwhile.
    # SQLite gives its log and its index the mode of the file. If this fails, SQLite says why, or makes it itself.
    if not file.exists():
        with suppress(OSError):
            os.mknod(file.resolve(), stat.S_IFREG | OWNER_ALONE)
