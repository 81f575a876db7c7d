"""A chat service on rowlock: applications own chats, chats own messages, all numbered 1, 2, 3 … without a gap.

Only rowlock's public API is used here: counters for the numbers, `engine.grouped.together` for the writes of many at
once, a list and a worker for what is stored behind, a schedule for the counts.
"""

from rowlock import Engine, Invalid, RedisCounters, Worker
from rowlock.apps import Application
from rowlock.apps.chat import counts, messages
from rowlock.apps.chat.chats import Chats
from rowlock.apps.chat.routes import ChatRoutes
from rowlock.apps.chat.tables import ChatTables

__all__ = ["build"]

ATTEMPTS = 0
"""No limit: what was accepted is stored, sooner or later, and nothing is ever given up."""


def build(
    engine: Engine, *, write_behind: str = "off", refresh: str = "5s", redis: str = "", redis_fallback: str = ""
) -> Application:
    """The application; its tables are made if they are not there yet.

    With `write_behind=on` messages are accepted onto a list and stored by a worker. Counts are refreshed so often as
    `refresh` says. With `redis`, an address, numbers come from there; `redis_fallback=database` if it cannot be asked.
    """
    if write_behind not in ("on", "off"):
        raise Invalid(f"write_behind={write_behind} cannot be", "say on or off")
    if redis_fallback not in ("", "database"):
        raise Invalid(f"redis_fallback={redis_fallback} cannot be", "say database, or leave it out")
    tables = ChatTables(engine)
    tables.make()
    chats = Chats(engine, tables, behind=write_behind == "on")
    chats.counts.plan(engine, refresh)
    numbers = RedisCounters(engine, redis, fallback="database" if redis_fallback else None) if redis else None

    def work(worker: Worker) -> None:
        worker.on(messages.LIST, chats.messages.drain, batch=messages.BATCH, attempts=ATTEMPTS, backoff="100ms..1m")
        worker.on(counts.LIST, chats.counts.refresh, batch=1, attempts=ATTEMPTS, backoff="1s..1m")

    def close() -> None:
        if numbers is not None:
            numbers.close()

    asgi = ChatRoutes(engine, chats, numbers).app()
    return Application(asgi, work, close, open_paths=("/chat", "/chat/page.js", "/chat/page.css"), pages=("/chat",))
