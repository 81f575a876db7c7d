"""What others do, as small servers: the highest number plus one in a transaction, and Redis with a list drained later.

    python -m bench._chat_baselines max|redis DATABASE [REDIS]

Both have a bare uvicorn and Starlette, with no access control, limits or counts: less to do than ours.
"""

import asyncio
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import redis
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

THREADS = 32
DRAINED = 500
Post = Callable[[int, str], int]


class Store:
    """One table, a connection for each thread, every commit flushed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._local = threading.local()
        self._sqlite = "://" not in url
        self.mark = "?" if self._sqlite else "%s"
        self.execute("create table messages (chat bigint, number bigint, body text, primary key (chat, number))")
        self.commit()

    @property
    def connection(self) -> Any:
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connected()
        return self._local.connection

    def _connected(self) -> Any:
        if not self._sqlite:
            return psycopg.connect(self._url)
        made = sqlite3.connect(self._url, timeout=60, isolation_level=None)
        made.execute("pragma journal_mode = wal")
        made.execute("pragma synchronous = full")
        return made

    def execute(self, sql: str, *values: Any) -> Any:
        return self.connection.execute(sql.replace("?", self.mark), values)

    def begin(self) -> None:
        if self._sqlite:
            self.execute("begin immediate")

    def commit(self) -> None:
        self.connection.commit()

    def highest_plus_one(self, chat: int, body: str) -> int:
        while True:
            self.begin()
            highest = self.execute("select coalesce(max(number), 0) from messages where chat = ?", chat).fetchone()
            number = highest[0] + 1
            try:
                self.execute("insert into messages values (?, ?, ?)", chat, number, body)
                self.commit()
            except (psycopg.errors.UniqueViolation, sqlite3.IntegrityError):
                self.connection.rollback()  # somebody else was given it too
                continue
            return int(number)


def by_redis(store: Store, url: str) -> Post:
    """INCR and LPUSH, and a thread that stores what was pushed; nothing of it is durable when it is answered."""
    client = redis.Redis.from_url(url)

    def drain() -> None:
        while True:
            rows = client.rpop("entities", DRAINED)
            if not rows:
                time.sleep(0.05)
                continue
            store.begin()
            for chat, number, body in map(json.loads, rows):
                store.execute("insert into messages values (?, ?, ?)", chat, number, body)
            store.commit()

    threading.Thread(target=drain, daemon=True).start()

    def post(chat: int, body: str) -> int:
        number = int(client.incr(f"chat {chat}"))
        client.lpush("entities", json.dumps([chat, number, body]))
        return number

    return post


def routed(post: Post) -> Callable[[Request], Awaitable[JSONResponse]]:
    threads = ThreadPoolExecutor(THREADS)

    async def answer(request: Request) -> JSONResponse:
        body = json.loads(await request.body())["body"]
        loop = asyncio.get_running_loop()
        number = await loop.run_in_executor(threads, post, int(request.path_params["chat"]), body)
        return JSONResponse({"number": number})

    return answer


class Told(uvicorn.Server):
    """Says where it listens."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        print(f"at http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    kind, place, *more = sys.argv[1:]
    kept = Store(place)
    chosen = kept.highest_plus_one if kind == "max" else by_redis(kept, more[0])
    path = "/api/v1/applications/{token}/chats/{chat}/messages"
    app = Starlette(routes=[Route(path, routed(chosen), methods=["POST"])])
    Told(uvicorn.Config(app, port=0, access_log=False, log_level="warning")).run()
