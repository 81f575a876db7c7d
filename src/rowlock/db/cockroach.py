"""CockroachDB: written as its difference from PostgreSQL.

It serves at SERIALIZABLE and asks clients to retry (40001), has no advisory locks and no NOTIFY, and no statement may
change one table twice. Its variants in sql/ are the files `….cockroach.sql`.
"""

from typing import Any

import msgspec

from rowlock.db import postgres
from rowlock.db.database import Database
from rowlock.db.urls import Address

DIALECT = msgspec.structs.replace(
    postgres.DIALECT,
    names=("cockroach", "postgres"),
    fragments={**postgres.DIALECT.fragments, "share": "for share", "lock": "for update"},
)


def open_database(address: Address, **options: Any) -> Database:
    """Return the database at the address, used as PostgreSQL at SERIALIZABLE."""
    serializable = msgspec.structs.replace(address, isolation="serializable")
    return postgres.open_database(serializable, dialect=DIALECT, **options)
