"""The async handles are generated from the plain ones, and typed."""

import subprocess
import sys
from pathlib import Path

from tests.house.places import ROOT

BIN = Path(sys.executable).parent

TYPED = """
from typing import assert_type

from rowlock import Added, AsyncEngine, Engine, Item
from rowlock.aio import AsyncClaim, AsyncList


async def use(engine: AsyncEngine) -> None:
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
"""


def test_the_async_handles_are_up_to_date() -> None:
    ran = subprocess.run(
        [sys.executable, "tools/async_handles.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


def test_a_type_checker_knows_the_async_handles(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text(TYPED)
    mypy = [BIN / "mypy", "--config-file", ROOT / "pyproject.toml", "--warn-unused-ignores", page]
    ran = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
