"""A FastAPI application with rowlock's service, dashboard and worker in it: `uvicorn fastapi_app:app`."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI

from rowlock import AsyncEngine, Engine, Item, Worker
from rowlock.http import Service

engine = Engine(os.environ.get("ROWLOCK_DATABASE_URL", "work.db"))
lists = AsyncEngine.over(engine)
worker = Worker(engine)
service = Service(engine, worker=worker, loopback=True)


@worker.on("mail")
async def send(item: Item) -> None:
    """Greet a new member."""
    print("sending to", item.key)  # noqa: T201


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Start the worker with the application, and stop it with the application."""
    async with service.lifespan(app):
        yield
    engine.close()


app = FastAPI(lifespan=lifespan)
app.mount("/rowlock", service)


async def get_lists() -> AsyncEngine:
    """Return the engine, for routes that depend on it."""
    return lists


@app.post("/signup/{address}", status_code=202)
async def signup(address: str, lists: Annotated[AsyncEngine, Depends(get_lists)]) -> dict[str, int]:
    """Add a greeting to the mail."""
    added = await lists["mail"].add(address)
    return {"added": added.added}
