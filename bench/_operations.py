"""What `bench.commits` measures, by the public API alone, so that it runs with the trees of many commits.

    python -m bench._operations NAME URL

prints microseconds of CPU and of the clock for one operation.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from rowlock import Engine, Worker

ITEMS = 100_000
SINGLES = 3_000
CONNECTIONS = 64
SECONDS = 4
SUBSCRIPTIONS = 10_000
RECORDS = 300
START = re.compile(r"at (http://[\d.]+:\d+)")
# Each thread of wrk has a state of its own: its number and a count make a key that comes once.
SCRIPTS = {
    "get": """
local function key() return string.format("%09d", math.random(0, 9999)) end
request = function() return wrk.format("GET", "/v1/lists/l/items/" .. key()) end""",
    "list": 'request = function() return wrk.format("GET", "/v1/lists/l") end',
    "post": """
local threads, count = 0, 0
function setup(thread) thread:set("number", threads); threads = threads + 1 end
request = function()
    count = count + 1
    return wrk.format("POST", "/v1/lists/new/items", nil, string.format("%d-%09d\\n", number, count))
end""",
}


class Stopwatch:
    """CPU and time of a block."""

    def __enter__(self) -> "Stopwatch":
        self._clock, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.clock, self.cpu = time.perf_counter() - self._clock, time.process_time() - self._cpu

    def each(self, count: int) -> tuple[float, float]:
        return 1e6 * self.cpu / count, 1e6 * self.clock / count


def keys(count: int) -> Iterator[str]:
    return (f"{number:09}" for number in range(count))


def bulk_add(engine: Engine) -> tuple[float, float]:
    with Stopwatch() as watch:
        engine["l"].add(keys(ITEMS))
    return watch.each(ITEMS)


def single_add(engine: Engine) -> tuple[float, float]:
    each = engine["l"]
    each.add("first")
    with Stopwatch() as watch:
        for key in keys(SINGLES):
            each.add(key)
    return watch.each(SINGLES)


def show(engine: Engine) -> tuple[float, float]:
    each = engine["l"]
    each.add(keys(SINGLES))
    with Stopwatch() as watch:
        for key in keys(SINGLES):
            each.show(key)
    return watch.each(SINGLES)


def claims_of_one(engine: Engine) -> tuple[float, float]:
    engine["l"].add(keys(SINGLES))
    with engine.session() as session, Stopwatch() as watch:
        for claim in session.claim("l", limit=1):
            for item in claim:
                claim.done(item)
    return watch.each(SINGLES)


def drain(engine: Engine) -> tuple[float, float]:
    engine["l"].add(keys(ITEMS))
    worker = Worker(engine, concurrency=16)
    worker.on("*", lambda _: None, batch=1000)
    with Stopwatch() as watch:
        worker.run(until="done", signals=False)
    return watch.each(ITEMS)


def drain_function(engine: Engine) -> tuple[float, float]:
    engine["l"].add(keys(ITEMS))
    worker = Worker(engine, concurrency=16)
    worker.on("*", lambda _: None)
    with Stopwatch() as watch:
        worker.run(until="done", signals=False)
    return watch.each(ITEMS)


def match(engine: Engine) -> tuple[float, float]:
    from bench._comics import FIELDS, Comics

    topic = engine.topic("comics")
    topic.define(FIELDS)
    topic.subscribe_many(list(Comics().subscriptions(SUBSCRIPTIONS)))
    records = Comics().records(RECORDS)
    worker = Worker(engine)
    topic.deliver(worker, lambda _: None)
    with Stopwatch() as watch:
        for record in records:
            topic.publish(record)
        worker.run(until="idle", signals=False)
    return watch.each(RECORDS)


@contextmanager
def server(url: str) -> Iterator[tuple[str, psutil.Process]]:
    command = [sys.executable, "-m", "rowlock", "serve", "--port", "0", "--no-access-log", "-d", url]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = next(filter(None, map(START.search, process.stderr)))
        yield found[1], psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def http(kind: str) -> Callable[[Engine], tuple[float, float]]:
    def measure(engine: Engine) -> tuple[float, float]:
        engine["l"].add(keys(10_000))
        with server(sys.argv[2]) as (address, process):
            _wrk(address, kind, seconds=1)
            before = sum(process.cpu_times()[:2])
            count = _wrk(address, kind, seconds=SECONDS)
            return 1e6 * (sum(process.cpu_times()[:2]) - before) / count, 1e6 * SECONDS / count

    return measure


def _wrk(address: str, kind: str, *, seconds: int) -> int:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPTS[kind].replace("%d-", f"%d-{time.time_ns()}-"))
        script.flush()
        command = ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script.name, address]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in said:
        raise SystemExit(said)
    return int(re.search(r"(\d+) requests in", said)[1])  # type: ignore[index]


OPERATIONS: dict[str, Callable[[Engine], tuple[float, float]]] = {
    "bulk_add": bulk_add,
    "single_add": single_add,
    "show": show,
    "claims_of_one": claims_of_one,
    "drain": drain,
    "drain_function": drain_function,
    "get": http("get"),
    "list": http("list"),
    "post": http("post"),
    "match": match,
}


if __name__ == "__main__":
    with Engine(sys.argv[2]) as opened:
        opened.migrate()
        print(*OPERATIONS[sys.argv[1]](opened))
