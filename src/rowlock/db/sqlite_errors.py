"""Errors of SQLite, translated to ours."""

import os
import sqlite3
from pathlib import Path

from rowlock.db.urls import Address
from rowlock.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseDenied,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnreachable,
    RowlockError,
    SchemaMissing,
    Unavailable,
)

_BUSY = sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL

MIN_FREE_BYTES = 65_536
"""Bytes that SQLite needs beside a file to use it: the index of its write-ahead log begins with half of them."""


def code(error: sqlite3.Error) -> int:
    """Return the primary result code of an error, or 0 if it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection holds a lock, so that another try may succeed."""
    return code(error) in _BUSY


def translate_error(error: sqlite3.Error, address: Address) -> RowlockError:
    """Return our error for the driver's."""
    shown = address.shown
    match code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            return busy(address)
        case sqlite3.SQLITE_READONLY:
            hint = "check its owner and mode, those of its folder, and whether its file system is mounted read-only"
            return DatabaseReadOnly(f"{shown} cannot be written", hint)
        case sqlite3.SQLITE_FULL:
            return _full(address)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR if _no_room(address.target):
            return _full(address)
        case sqlite3.SQLITE_CANTOPEN:
            return DatabaseUnreachable(f"{shown} cannot be opened", "check that its folder exists and may be written")
        case sqlite3.SQLITE_IOERR:
            name = getattr(error, "sqlite_errorname", "SQLITE_IOERR")
            what = f"the file system failed to read or write {shown} ({name})"
            return Unavailable(what, "check the disk, then run: rowlock doctor")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            what = f"{shown} is damaged or not a SQLite database"
            return DatabaseCorrupt(what, "name another file, or restore a copy")
        case sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return DatabaseDenied(f"{shown} may not be opened by this user", "check its owner and mode")
        case sqlite3.SQLITE_ERROR if "no such table" in str(error):
            return SchemaMissing(f"{shown} has no tables of rowlock", "run: rowlock migrate")
        case _:
            return Unavailable(f"{shown} failed", "run: rowlock doctor")


def busy(address: Address) -> DatabaseBusy:
    """Return the error for a writer that has not ended in time."""
    return DatabaseBusy(f"{address.shown} is held by another writer", "try again when its transaction has ended")


def _full(address: Address) -> DatabaseFull:
    return DatabaseFull(f"no room is left for {address.shown}", "free some space; nothing was changed")


def _no_room(path: str) -> bool:
    # SQLite reports a full disk only when it writes to the file or its log, not when it creates them.
    try:
        disk = os.statvfs(Path(path).parent)
    except OSError:
        return False
    blocks, files = (disk.f_bfree, disk.f_ffree) if os.geteuid() == 0 else (disk.f_bavail, disk.f_favail)
    # A file system that counts neither has 0 of both, also in all.
    return (disk.f_blocks > 0 and blocks * disk.f_frsize < MIN_FREE_BYTES) or (disk.f_files > 0 and files == 0)
