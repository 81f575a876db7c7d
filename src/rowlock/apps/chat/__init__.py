"""A chat service on rowlock: applications own chats, chats own messages, all numbered 1, 2, 3 … without a gap.

It uses rowlock's public API only: counters for the numbers, `engine.grouped.together` to write for many requests in one
transaction, a list and a worker to store messages later, a schedule for the counts.
"""

from rowlock import Engine, Invalid, RedisCounters, Worker
from rowlock.apps import Application
from rowlock.apps.chat import counts, messages
from rowlock.apps.chat.chats import Chats, MessageNumbers
from rowlock.apps.chat.pages import ChatPages
from rowlock.apps.chat.routes import ChatRoutes
from rowlock.apps.chat.tables import ChatTables

__all__ = ["build"]

UNLIMITED = 0
"""Accepted messages are retried until they are stored."""


def build(
    engine: Engine, *, write_behind: str = "off", refresh: str = "5s", redis: str = "", redis_fallback: str = ""
) -> Application:
    """Return the application; create its tables if they do not exist.

    With `write_behind=on` messages are accepted onto a list and stored by a worker. `refresh` is the interval at which
    counts are refreshed. `redis` is the URL of a server that gives the numbers; with `redis_fallback=database` the
    database gives them while Redis is unavailable.
    """
    if write_behind not in ("on", "off"):
        raise Invalid(f"write_behind must be on or off, got {write_behind!r}")
    if redis_fallback not in ("", "database"):
        raise Invalid(f"redis_fallback must be database or empty, got {redis_fallback!r}")
    tables = ChatTables(engine)
    tables.make()
    chats = Chats(engine, tables, behind=write_behind == "on")
    engine[messages.LIST].add([])  # makes the list, so that it can be read
    chats.counts.plan(engine, refresh)
    counters = RedisCounters(engine, redis, fallback="database" if redis_fallback else None) if redis else None

    def work(worker: Worker) -> None:
        worker.on(messages.LIST, chats.messages.drain, batch=messages.BATCH, attempts=UNLIMITED, backoff="100ms..1m")
        worker.on(counts.LIST, chats.counts.refresh, batch=1, attempts=UNLIMITED, backoff="1s..1m")

    def close() -> None:
        if counters is not None:
            counters.close()

    numbers = MessageNumbers(chats, counters)
    asgi = ChatRoutes(engine, chats, numbers).app()
    entries = ChatPages(chats, numbers).entries()
    return Application(asgi, work, close, pages=("/chat",), page_entries=entries)
