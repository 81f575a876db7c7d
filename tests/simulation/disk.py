"""The simulated disk: a SQLite database in memory, and connections of simulated processes that go wrong when told to.

All processes share one connection of the driver: opening one for each would take longer than a whole seed, and pages
need not be read again after another one has written. A transaction belongs to the process that began it. Others find
the file busy when they want to write, and wait with what they want to read; so what they read is what is committed, as
it is in a file with a write-ahead log.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import compress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.servers import quick_place

from rowlock import Engine
from rowlock.db import sqlite

EPOCH = 1_700_000_000.0
JULIAN_DAY_OF_1970, SECONDS_PER_DAY = 2_440_587.5, 86_400.0
CREATE_EFFECTS = "create table effects (position integer, token text, number integer)"
"""What handlers write in the transaction that settles their item: a row for each time."""
BEGIN, COMMIT, ROLLBACK = "begin immediate", "commit", "rollback"
SYNCHRONOUS, FOREIGN_KEYS, JOURNAL = "pragma synchronous = ", "pragma foreign_keys = on", "pragma journal_mode = wal"

Step = Callable[["Line", str], None]


class Killed(BaseException):
    """The simulated process is gone: nothing it does from now on reaches the disk."""


class Disk:
    """A migrated database, and who writes to it."""

    def __init__(self) -> None:
        self.time = EPOCH
        """What the database's clock says, in seconds since 1970."""
        self.writer: Line | None = None
        """The connection whose transaction is open."""
        self.enforces_keys = False
        self.new_line: Callable[[], Line] | None = None
        """Opens a connection of the process whose turn it is."""
        self.folder = TemporaryDirectory(prefix="rowlock-simulation-", dir=quick_place())
        self.path = str(Path(self.folder.name, "work.db"))
        self.raw = self._opened()
        tables = [name for (name,) in self.raw.execute("select name from sqlite_master where type = 'table'")]
        self._tables = [name for name in tables if name not in ("rowlock_migrations", "sqlite_sequence")]
        self._born = {name: self.raw.execute(f"select * from {name}").fetchall() for name in self._tables}
        self._which_have_rows = "select " + ", ".join(f"exists (select 1 from {name})" for name in self._tables)

    def _opened(self) -> sqlite3.Connection:
        with Engine(self.path) as engine:
            engine.migrate()
            self.address = engine.database.address
            self.statements = engine.database._statements
            """Read and prepared once, for the engines of all seeds."""
        bytes(sqlite.LARGE_BLOCK_BYTES)  # as the engine does: else glibc gives freed memory back all the time
        raw = sqlite3.connect(":memory:", isolation_level=None, cached_statements=1_024)
        with sqlite3.connect(self.path) as file:
            file.backup(raw)
        file.close()
        raw.execute(CREATE_EFFECTS)
        # All time is the database's: this is the function that its statements ask.
        raw.create_function("julianday", 1, lambda _: JULIAN_DAY_OF_1970 + self.time / SECONDS_PER_DAY)
        return raw

    def close(self) -> None:
        """Forget everything."""
        self.raw.close()
        self.folder.cleanup()

    def reset(self) -> None:
        """Make the database as it was after its migration."""
        self.time, self.writer = EPOCH, None
        if self.raw.in_transaction:
            self.raw.execute(ROLLBACK)
        self.raw.execute(BEGIN)
        have_rows = self.raw.execute(self._which_have_rows).fetchone()
        for name in compress(self._tables, have_rows):  # not all: a seed fills a third of the tables
            self.raw.execute(f"delete from {name}")
        for name, rows in self._born.items():
            for row in rows:
                self.raw.execute(f"insert into {name} values ({', '.join('?' * len(row))})", row)
        self.raw.execute("delete from sqlite_sequence")
        self.raw.execute(COMMIT)


class Line:
    """A simulated process's connection: each statement passes `before` and `after`, which may stop it or raise."""

    def __init__(self, disk: Disk, before: Step, after: Step) -> None:
        self.disk = disk
        self.before = before
        self.after = after
        self.alive = True
        self.killed = False
        self.enforces_keys = False
        self.flushes = True
        """Whether a power cut could not lose what is committed now."""

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Run a statement, as the driver's connection does."""
        return self.cursor().execute(sql, parameters)

    def cursor(self) -> "LineCursor":
        """Return a cursor, as the driver's connection does."""
        cursor = LineCursor(self.disk.raw)
        cursor.line = self
        return cursor

    @property
    def in_transaction(self) -> bool:
        """Whether its transaction is open."""
        return self.disk.writer is self

    def undo(self) -> None:
        """Roll back its transaction, if it has one."""
        if self.in_transaction:
            self.disk.writer = None
            self.disk.raw.execute(ROLLBACK)

    def close(self) -> None:
        """Close it; what it has not committed is undone."""
        self.alive = False
        self.undo()


class LineCursor(sqlite3.Cursor):
    """A cursor of a line."""

    line: Line

    def execute(self, sql: str, parameters: Any = ()) -> "LineCursor":
        """Run a statement between two steps of the simulation."""
        line = self.line
        if line.killed:
            raise Killed
        if not line.alive:
            raise sqlite3.ProgrammingError("Cannot operate on a closed database.")
        line.before(line, sql)
        if sql == BEGIN:
            self._begin()
        elif sql.startswith("pragma "):
            self._set(sql)
        else:
            super().execute(sql, parameters)
            if sql in (COMMIT, ROLLBACK):
                line.disk.writer = None
        line.after(line, sql)
        return self

    def _begin(self) -> None:
        line = self.line
        if line.disk.writer is not None:
            raise driver_error(sqlite3.SQLITE_BUSY, "SQLITE_BUSY")
        if line.disk.enforces_keys is not line.enforces_keys:  # not each time: SQLite compiles all statements again
            line.disk.enforces_keys = line.enforces_keys
            line.disk.raw.execute(f"pragma foreign_keys = {'on' if line.enforces_keys else 'off'}")
        super().execute(BEGIN)
        line.disk.writer = line

    def _set(self, sql: str) -> None:
        """Note what the connection is set to: the driver's is shared with other processes."""
        if sql == JOURNAL:
            super().execute("select 'wal'")
        elif sql.startswith(SYNCHRONOUS):
            self.line.flushes = sql.endswith("full")
        elif sql == FOREIGN_KEYS:
            self.line.enforces_keys = True
        else:
            super().execute(sql)


@contextmanager
def installed(disk: Disk) -> Iterator[None]:
    """Let engines open their files by way of the simulation: the one place where it stands in for the driver."""
    real = sqlite._connect
    sqlite._connect = lambda where, *, uri=False: disk.new_line()  # type: ignore
    try:
        yield
    finally:
        sqlite._connect = real


def driver_error(code: int, what: str) -> sqlite3.OperationalError:
    """Return an error as the driver raises it."""
    error = sqlite3.OperationalError(what)
    error.sqlite_errorcode = code
    error.sqlite_errorname = what
    return error
