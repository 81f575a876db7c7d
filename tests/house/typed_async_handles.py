"""A program with async handles, as a strict type checker reads it: it must find the mistake marked `type: ignore`."""

from typing import assert_type

from rowlock import Added, AsyncEngine, Engine, Item
from rowlock.aio import AsyncClaim, AsyncList


async def use(engine: AsyncEngine) -> None:
    """Use what has handles of its own."""
    names = engine["names"]
    assert_type(names, AsyncList)
    assert_type(names.name, str)
    assert_type(await names.add("a"), Added)
    assert_type([item async for item in names], list[Item])
    async with engine.session() as session, engine.transaction() as tx:
        assert_type(await session.take(names), AsyncClaim | None)
        assert_type(tx["names"], AsyncList)
        async for claim in session.claim("names"):
            for item in claim:
                claim.done(item)
            await claim.settle(using=tx)
    assert_type(engine.plain, Engine)
    assert_type(AsyncEngine.over(engine.plain), AsyncEngine)
    await names.add("a", priorty=1)  # type: ignore[call-arg]  # a wrong name is seen
