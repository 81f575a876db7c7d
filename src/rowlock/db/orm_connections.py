"""Finds the driver's connection inside a SQLAlchemy or Django connection.

A module of its own, so that another library is added in one place. None of them is imported: an object is recognised by
its methods.
"""

from typing import Any

from rowlock.errors import InvalidTransaction


def driver_connection(using: Any) -> Any:
    """Return the driver's connection whose transaction the caller has open."""
    if hasattr(using, "get_bind") and hasattr(using, "connection"):
        return driver_connection(using.connection())  # SQLAlchemy's Session, or a scoped one
    if hasattr(using, "exec_driver_sql"):
        return _from_sqlalchemy(using)
    if hasattr(using, "in_atomic_block") and hasattr(using, "ensure_connection"):
        return _from_django(using)
    return using


def _from_sqlalchemy(connection: Any) -> Any:
    # Reaching below SQLAlchemy does not begin its transaction, and its commit would then do nothing.
    if not connection.in_transaction():
        connection.begin()
    driver = connection.connection.driver_connection
    return getattr(driver, "_conn", driver)  # aiosqlite runs a plain connection in a thread of its own


def _from_django(connection: Any) -> Any:
    if not connection.in_atomic_block:
        raise InvalidTransaction(
            "the given Django connection is outside of atomic()", "use it inside: with transaction.atomic()"
        )
    return connection.connection


def in_transaction(driver: Any) -> bool:
    """Return whether a transaction is open on the driver's connection; perhaps a later one."""
    if hasattr(driver, "info"):  # psycopg
        return not driver.closed and driver.info.transaction_status.name != "IDLE"
    try:
        return bool(driver.in_transaction)
    except Exception:  # sqlite3: the connection is closed
        return False
