"""Databases: the only code that knows a driver.

`connect(url)` returns a `Database`; `database.run(verb, …)` runs a verb in a transaction, again after a conflict.
"""

from rowlock.db.database import Database, connect
from rowlock.db.driver import Hint, Pending
from rowlock.db.transaction import BoundVerb, PipelinedVerb, Tx, is_flushed, pipelined, single_statement, unflushed
from rowlock.db.urls import Address, listening_at, parse, with_schema

__all__ = [
    "Address",
    "BoundVerb",
    "Database",
    "Hint",
    "Pending",
    "PipelinedVerb",
    "Tx",
    "connect",
    "is_flushed",
    "listening_at",
    "parse",
    "pipelined",
    "single_statement",
    "unflushed",
    "with_schema",
]
