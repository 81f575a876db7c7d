"""Forks: a connection to a SQLite file must not be open while a process forks.

The library keeps the locks of a file in memory; a child inherits that memory but not the locks, and would write
beside others. So what lies idle is closed before a fork; a file whose connections were in use then is closed to the
child for good.
"""

import os
import weakref
from pathlib import Path

from rowlock.db.pool import Pool
from rowlock.errors import DatabaseUnreachable

_pools: "weakref.WeakKeyDictionary[Pool, str]" = weakref.WeakKeyDictionary()
_in_use: set[str] = set()
_closed_to_us: set[str] = set()


def watch(pool: Pool, path: str) -> None:
    """Close the pool's idle connections before every fork."""
    _pools[pool] = str(Path(path).resolve())


def check(path: str) -> None:
    """Refuse a file whose connections were in use when this process was forked."""
    if str(Path(path).resolve()) in _closed_to_us:
        what = f"this process was forked while {path} was in use, and cannot share it safely"
        raise DatabaseUnreachable(what, "start processes by spawn, or fork before there is a worker or a session")


def _before() -> None:
    _in_use.clear()
    for pool, path in list(_pools.items()):
        pool.forget_idle()
        if pool.busy:
            _in_use.add(path)


def _in_child() -> None:
    _closed_to_us.update(_in_use)


os.register_at_fork(before=_before, after_in_child=_in_child)
