"""CockroachDB: written as its difference from PostgreSQL.

It serves at SERIALIZABLE and asks clients to run again (40001), has no advisory locks and no NOTIFY, and no
statement may change one table twice. Variants in sql/ are marked `.cockroach.sql`.
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
    """The database behind the address, spoken to as PostgreSQL at SERIALIZABLE."""
    serial = msgspec.structs.replace(address, isolation="serializable")
    return postgres.open_database(serial, dialect=DIALECT, **options)
