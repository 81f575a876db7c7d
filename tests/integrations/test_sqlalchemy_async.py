"""`using=` inside `run_sync` of SQLAlchemy's async session and connection."""

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from rowlock import Engine
from rowlock.errors import InvalidTransaction


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> Any:
    """An engine with a list, and a table of the caller's."""
    with Engine(request.getfixturevalue(f"{request.param}_url")) as engine:
        engine["mail"].add("before")
        with engine.transaction() as tx:
            tx.execute("create table orders (id integer)")
        yield engine


def opened(engine: Engine) -> AsyncEngine:
    target = engine.database.address.target
    if engine.dialect == "sqlite":
        return create_async_engine(f"sqlite+aiosqlite:///{target}", connect_args={"check_same_thread": False})
    return create_async_engine("postgresql+psycopg://", async_creator=lambda: psycopg.AsyncConnection.connect(target))


def run(engine: Engine, work: Callable[[AsyncSession], Any]) -> None:
    async def begin() -> None:
        database = opened(engine)
        try:
            async with AsyncSession(database) as session, session.begin():
                await work(session)
        finally:
            await database.dispose()

    asyncio.run(begin())


async def order(session: AsyncSession, engine: Engine) -> None:
    for number in (1, 2):
        await session.execute(sqlalchemy.text("insert into orders values (:number)"), {"number": number})
        await session.run_sync(lambda plain, key=str(number): engine["mail"].add(key, using=plain))


def test_rows_and_items_commit_together(engine: Engine) -> None:
    run(engine, lambda session: order(session, engine))
    assert [item.key for item in engine["mail"]] == ["1", "2", "before"]
    with engine.transaction() as tx:
        assert tx.execute("select count(*) from orders").fetchone() == (2,)


def test_rows_and_items_are_rolled_back_together(engine: Engine) -> None:
    async def fail(session: AsyncSession) -> None:
        await order(session, engine)
        raise LookupError

    with pytest.raises(LookupError):
        run(engine, fail)
    assert [item.key for item in engine["mail"]] == ["before"]


def test_a_connection_of_another_thread_is_refused_with_what_to_do(sqlite_url: str) -> None:
    async def begin(engine: Engine) -> None:
        database = create_async_engine(f"sqlite+aiosqlite:///{sqlite_url}", connect_args={"check_same_thread": True})
        try:
            async with database.begin() as connection:
                await connection.run_sync(lambda plain: engine["mail"].add("1", using=plain))
        finally:
            await database.dispose()

    with Engine(sqlite_url) as engine, pytest.raises(InvalidTransaction, match="check_same_thread=False"):
        asyncio.run(begin(engine))


def test_an_async_connection_of_psycopg_is_joined_while_no_task_uses_it(postgres_url: str) -> None:
    async def begin(engine: Engine) -> None:
        async with await psycopg.AsyncConnection.connect(engine.database.address.target) as connection:
            engine["mail"].add("1", using=connection)
            async with connection.lock:
                with pytest.raises(InvalidTransaction, match="in use by another task"):
                    engine["mail"].add("2", using=connection)

    with Engine(postgres_url) as engine:
        asyncio.run(begin(engine))
        assert [item.key for item in engine["mail"]] == ["1"]
