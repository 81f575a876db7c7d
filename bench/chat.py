"""The chat application under load: messages a second, durable when they are answered, one server process.

    python -m bench.chat [--size 10000] [--connections 64] [--seconds 4] [--chats 10] [--database sqlite,postgres]

--size is how many messages lie in another chat when it begins.
Beside it, in the same run, what others do: the highest number plus one in a transaction of its own, and Redis INCR with
a list that is drained later (which forgets what it has accepted when Redis dies). wrk asks. Afterwards the numbers of
each chat are looked at: nothing is claimed to be fast that is not 1..N.
"""

import argparse
import http.client
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from tests.redis_servers import RedisServer

from bench._places import DISK, PLACES, Fresh, flush_milliseconds
from rowlock import Engine
from rowlock.apps.chat.chats import Chats, CreateApplication, OpenChat
from rowlock.apps.chat.model import ChatMessage
from rowlock.apps.chat.tables import ChatTables

GOAL = 3_000
BATCH = 1_000
START = re.compile(r"at http://127\.0\.0\.1:(\d+)")
BASE = "/api/v1/applications"
LUA = """
local count = 0
request = function()
    count = count + 1
    local path = string.format("%s/%s/chats/%d/messages", BASE, TOKEN, count % CHATS + 1)
    return wrk.format("POST", path, nil, string.format('{"body":"hello, this is number %d of somebody"}', count))
end
"""


@contextmanager
def server(*command: str) -> Iterator[tuple[int, psutil.Process]]:
    """A server process: its port, and itself."""
    process = subprocess.Popen([sys.executable, "-m", *command], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = next(filter(None, map(START.search, process.stderr)))
        yield int(found[1]), psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def asked(port: int, path: str, body: object = None) -> dict[str, object]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", BASE + path, json.dumps(body))
    answer: dict[str, object] = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def load(port: int, process: psutil.Process, token: str, options: argparse.Namespace) -> tuple[float, str]:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(f'BASE = "{BASE}"\nTOKEN = "{token}"\nCHATS = {options.chats}\n{LUA}')
        script.flush()
        command = ["wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}s", "--latency", "-s", script.name]
        before = sum(process.cpu_times()[:2])
        ran = subprocess.run([*command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True)
        spent = sum(process.cpu_times()[:2]) - before
    names = ("Requests/sec", "50%", "99%")
    said = [re.search(rf"^\s*{name}:?\s+(\S+)", ran.stdout, re.MULTILINE) for name in names]
    rate, p50, p99 = (found[1] for found in said if found is not None)
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", ran.stdout)
    assert wrong is None, wrong[0] if wrong else ""
    cpu = 1e6 * spent / (float(rate) * options.seconds)
    return float(rate), f"p50 {p50:>8}  p99 {p99:>8}  {cpu:>6,.0f} µs CPU each"


def seed(url: str, size: int) -> None:
    """Another chat, with messages that were stored before."""
    with Engine(url) as engine:
        tables = ChatTables(engine)
        tables.make()
        chats = Chats(engine, tables)
        token, _ = chats.create(CreateApplication("other"))
        chats.open(OpenChat(token))
        for low in range(1, size + 1, BATCH):
            numbers = range(low, min(low + BATCH, size + 1))
            with engine.transaction() as tx:
                chats.messages.store(
                    tx, [ChatMessage(1, number, 0, f"an older one, number {number}") for number in numbers]
                )


def ours(url: str, behind: str, options: argparse.Namespace) -> tuple[float, str]:
    seed(url, options.size)
    chosen = ["--app", "chat", "--app-option", f"chat.write_behind={behind}"]
    with server("rowlock", "serve", "--port", "0", "--no-access-log", "-d", url, *chosen) as (port, process):
        token = str(asked(port, "", {"name": "bench"})["token"])
        for _ in range(options.chats):
            asked(port, f"/{token}/chats")
        rate, more = load(port, process, token, options)
    return rate, f"{more}  {checked(url)}"


def checked(url: str) -> str:
    """Whether the numbers of each chat are 1..N, stored or accepted."""
    with Engine(url) as engine:
        with engine.transaction() as tx:
            rows = tx.execute("select chat, number from chat_messages").fetchall()
        waiting = [tuple(int(part, 16) for part in item.key.split("/")[:2]) for item in engine["chat/messages"]]
    seen: dict[int, list[int]] = {}
    for chat, number in [*rows, *waiting]:
        seen.setdefault(chat, []).append(number)
    assert all(sorted(numbers) == list(range(1, len(numbers) + 1)) for numbers in seen.values())
    return f"{len(rows):,} stored, {len(waiting):,} to be"


def measure(fresh: Fresh, redis: RedisServer, options: argparse.Namespace) -> bool:
    reached = []
    for name, behind in (("rowlock, at once", "off"), ("rowlock, behind", "on")):
        rate, more = ours(fresh(), behind, options)
        reached.append(rate >= GOAL)
        print(f"  {name:<22} {rate:>8,.0f}/s  {more}  {'pass' if reached[-1] else 'MISS'} (≥ {GOAL:,})", flush=True)
    for name, kind in (("highest plus one", "max"), ("Redis INCR and list", "redis")):
        redis.say("flushall")
        with server("bench._chat_baselines", kind, fresh(), redis.url) as (port, process):
            rate, more = load(port, process, "any", options)
        print(f"  {name:<22} {rate:>8,.0f}/s  {more}", flush=True)
    return all(reached)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--chats", type=int, default=10)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--place", default=DISK)
    options = parser.parse_args()
    redis, reached = RedisServer().start(), []
    try:
        for database in options.database.split(","):
            flush = flush_milliseconds(options.place)
            print(f"{database}: {options.connections} connections, a flush takes {flush:.2f} ms", flush=True)
            with PLACES[database](options.place) as fresh:
                reached.append(measure(fresh, redis, options))
    finally:
        redis.remove()
    return 0 if all(reached) else 1


if __name__ == "__main__":
    Path(DISK).mkdir(exist_ok=True)
    sys.exit(main())
