"""Databases: the only code that knows a driver.

`connect(url)` gives a `Database`; `database.run(verb, …)` runs a verb in a transaction, again if it must.
"""

from rowlock.db.database import Database, connect, is_flushed, unflushed
from rowlock.db.transaction import Transaction
from rowlock.db.urls import Address, listening_at, parse

__all__ = ["Address", "Database", "Transaction", "connect", "is_flushed", "listening_at", "parse", "unflushed"]
