"""Sixteen writers while server, workers, Redis and PostgreSQL are killed at random: nothing is lost or doubled."""

import http.client
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.apps.chatting import BASE
from tests.redis_servers import RedisServer, free_port
from tests.servers import Server, quick_place
from tests.torture import scaled
from tests.waiting import WAIT_SECONDS, until

from rowlock import Engine
from rowlock.apps.chat.tables import ChatTables

WRITERS, CHATS, KILLS = 16, 3, scaled(12)


class Process:
    """`rowlock serve --app chat` on a port, to be killed and started again."""

    def __init__(self, url: str, port: int, *more: str) -> None:
        self.port = port
        self._command = [
            sys.executable,
            "-m",
            "rowlock",
            "-q",
            "serve",
            "-d",
            url,
            "--port",
            str(port),
            "--app",
            "chat",
        ]
        self._command += ["--no-access-log", *more]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def again(self) -> None:
        self.kill()
        self.start()


class Writer(threading.Thread):
    """Sends messages and edits them, each until it is answered, and remembers what was."""

    def __init__(self, number: int, port: int, app: str, over: threading.Event) -> None:
        super().__init__(daemon=True)
        self._port, self._app, self._over = port, app, over
        self._chance = random.Random(number)
        self.said: dict[tuple[int, int], str] = {}
        self.twice: list[tuple[int, int]] = []

    def run(self) -> None:
        while not self._over.is_set():
            chat, body = self._chance.randrange(1, CHATS + 1), str(uuid.uuid4())
            number = self._ask("POST", f"{chat}/messages", body)["number"]
            if (chat, number) in self.said:
                self.twice.append((chat, number))
            self.said[chat, number] = body
            if self._chance.random() < 0.3:
                chat, number = self._chance.choice(list(self.said))
                body = str(uuid.uuid4())
                self._ask("PUT", f"{chat}/messages/{number}", body)
                self.said[chat, number] = body

    def _ask(self, method: str, path: str, body: str) -> Any:
        """Until it is answered: a key sees to it that it is done once."""
        deadline = time.monotonic() + WAIT_SECONDS
        headers = {"idempotency-key": body}
        while time.monotonic() < deadline:
            with suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
                try:
                    asked = msgspec.json.encode({"body": body})
                    connection.request(method, f"{BASE}/{self._app}/chats/{path}", asked, headers)
                    reply = connection.getresponse()
                    answer = msgspec.json.decode(reply.read())
                    if reply.status == 200:
                        return answer
                    assert reply.status == 503, answer
                finally:
                    connection.close()
            time.sleep(0.05)
        raise AssertionError(f"no answer to {method} {path}")


@contextmanager
def database(kind: str) -> Iterator[tuple[str, list[Callable[[], None]]]]:
    """A database, and what can be done to it."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(dir=quick_place()) as folder:
            yield str(Path(folder, "work.db")), []
        return
    server = Server(fsync="on", synchronous_commit="on").start()

    def crash() -> None:
        server.kill()
        server.start()

    try:
        yield server.url(), [crash]
    finally:
        server.remove()


@contextmanager
def by_redis(wanted: bool) -> Iterator[tuple[list[str], list[Callable[[], None]]]]:
    """The options that name a Redis, and what can be done to it."""
    if not wanted:
        yield [], []
        return
    server = RedisServer().start()

    def lose() -> None:
        server.kill()
        server.wipe()
        server.start()

    try:
        yield ["--app-option", f"chat.redis={server.url}", "--app-option", "chat.redis_fallback=database"], [lose]
    finally:
        server.remove()


@pytest.mark.torture
@pytest.mark.parametrize("behind", ["off", "on"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("redis", [False, True], ids=["counters", "redis"])
def test_whatever_dies_every_message_is_stored_once_under_its_own_number(kind: str, behind: str, redis: bool) -> None:
    with database(kind) as (url, of_database), by_redis(redis) as (options, of_redis):
        with Engine(url) as engine:
            engine.migrate()
        options += ["--app-option", f"chat.write_behind={behind}", "--app-option", "chat.refresh=1s"]
        server = Process(url, free_port(), "--no-work", *options)
        workers = [Process(url, free_port(), *options) for _ in range(2)]
        everybody = [server, *workers]
        for each in everybody:
            each.start()
        try:
            app = made(server.port)
            writers = written(server.port, app, [each.again for each in everybody] + of_database + of_redis)
            with Engine(url) as engine:
                until(lambda: not engine["chat/messages"].page(limit=1))
                judge(engine, app, writers, dense=not redis)
        finally:
            for each in everybody:
                each.kill()


def made(port: int) -> str:
    """An application with chats, once the server answers."""
    until(lambda: _post(port, "", {"name": "torture"}, only_try=True))
    token: str = _post(port, "", {"name": "torture"})["token"]
    for _ in range(CHATS):
        _post(port, f"/{token}/chats", {})
    return token


def _post(port: int, path: str, body: Any, *, only_try: bool = False) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
    try:
        connection.request("POST", BASE + path, msgspec.json.encode(body))
        return msgspec.json.decode(connection.getresponse().read())
    except OSError:
        if only_try:
            return None
        raise
    finally:
        connection.close()


def written(port: int, app: str, blows: list[Callable[[], None]]) -> list[Writer]:
    """Write while blows fall, each of them at least once; then let everybody finish."""
    chance, over = random.Random(os.environ.get("TORTURE_SEED", "chat")), threading.Event()
    writers = [Writer(number, port, app, over) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for blow in chance.sample(blows * KILLS, max(KILLS, 2 * len(blows))):
        reached = sum(len(writer.said) for writer in writers)
        until(lambda reached=reached: sum(len(writer.said) for writer in writers) > reached + 20)  # type: ignore[misc]
        blow()
    over.set()
    for writer in writers:
        writer.join(2 * WAIT_SECONDS)
        assert not writer.is_alive()
    return writers


def judge(engine: Engine, app: str, writers: list[Writer], *, dense: bool) -> None:
    """What was answered is stored, once; numbers and counts are right."""
    tables = ChatTables(engine)
    said: dict[tuple[int, int], str] = {}
    for writer in writers:
        assert writer.twice == []
        assert not said.keys() & writer.said.keys()
        said |= writer.said
    assert len(said) > 20 * KILLS
    places = [[app, number] for number in range(1, CHATS + 1)]
    rows = engine.read(tables.rows, "chats/find", rows=msgspec.json.encode(places).decode())
    for _, number, chat in rows:
        stored = engine.read(tables.rows, "messages/page", chat=chat, after=0, limit=1_000_000)
        bodies = {number: body for number, body, _ in stored}
        expected = {message: body for (where, message), body in said.items() if where == number}
        assert bodies == expected
        if dense:
            assert sorted(bodies) == list(range(1, len(bodies) + 1))
        until(partial(is_counted, engine, tables, chat=chat, count=len(stored)))


def is_counted(engine: Engine, tables: ChatTables, *, chat: int, count: int) -> bool:
    """Whether the count has come up to it; it must never be beyond."""
    (row,) = engine.read(tables.rows, "chats/show", chat=chat)
    assert row[1] <= count
    return bool(row[1] == count)
