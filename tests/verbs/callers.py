"""Transactions of callers: however one is begun, what it writes lands when it commits."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any

import psycopg
import sqlalchemy
from sqlalchemy.orm import Session as OrmSession

from rowlock import Claim, Engine, Session


class Thought(Exception):
    """The caller thinks better of it."""


class Caller:
    """A transaction of the caller's: what to give as `using`, and how the caller writes a row of its own."""

    def __init__(self, using: Any, execute: Callable[[str], Any]) -> None:
        self.using = using
        self.execute = execute

    def settle(self, claim: Claim, **options: Any) -> dict[str, Any]:
        """Write a result of each item that was handed out, and settle them."""
        for item in claim:
            self.execute(f"insert into results values ('{item.key}')")
            claim.done(item)
        return claim.settle(using=self.using, **options)


Begun = Callable[[Engine], AbstractContextManager[Caller]]


@contextmanager
def ours(engine: Engine) -> Iterator[Caller]:
    """A transaction of the engine's."""
    with engine.transaction() as tx:
        yield Caller(tx, tx.execute)


def connected(engine: Engine) -> Any:
    """A connection of the driver's, at the isolation of the engine's."""
    address = engine.database.address
    if address.dialect == "sqlite":
        return sqlite3.connect(address.target)
    connection = psycopg.connect(address.target)
    levels = psycopg.IsolationLevel
    connection.isolation_level = levels[address.isolation.upper().replace(" ", "_")]
    return connection


@contextmanager
def driver(engine: Engine) -> Iterator[Caller]:
    """A transaction of the driver's connection."""
    connection = connected(engine)
    try:
        with connection:
            yield Caller(connection, connection.execute)
    finally:
        connection.close()


def alchemy(engine: Engine) -> sqlalchemy.Engine:
    """SQLAlchemy on the same database."""
    kind = "sqlite" if engine.database.address.dialect == "sqlite" else "postgresql+psycopg"
    return sqlalchemy.create_engine(f"{kind}://", creator=partial(connected, engine), poolclass=sqlalchemy.NullPool)


@contextmanager
def core(engine: Engine) -> Iterator[Caller]:
    """One of SQLAlchemy's connection."""
    with alchemy(engine).begin() as connection:
        yield Caller(connection, lambda sql: connection.execute(sqlalchemy.text(sql)))


@contextmanager
def orm(engine: Engine) -> Iterator[Caller]:
    """One of SQLAlchemy's session."""
    with OrmSession(alchemy(engine)) as session, session.begin():
        yield Caller(session, lambda sql: session.execute(sqlalchemy.text(sql)))


WAYS = {"ours": ours, "driver": driver, "core": core, "orm": orm}
"""How callers begin a transaction that is committed at the end of its block, or rolled back by an exception."""


@contextmanager
def rolled_back(engine: Engine, begun: Begun) -> Iterator[Caller]:
    """A transaction of a caller's that is rolled back at the end of its block."""
    with suppress(Thought), begun(engine) as caller:
        yield caller
        raise Thought


def taken(session: Session, *, limit: int = 2) -> Claim:
    """A claim of the list `work`."""
    claim = session.take("work", limit=limit)
    assert claim is not None
    return claim


def results(engine: Engine) -> list[str]:
    """The rows of callers that were committed."""
    with engine.transaction() as tx:
        return [row[0] for row in tx.execute("select key from results order by key").fetchall()]


def another_gets(engine: Engine) -> list[str]:
    """The keys that another worker is handed."""
    with engine.session(holder="bob") as bob:
        claim = bob.take("work")
        return [] if claim is None else [item.key for item in claim]
