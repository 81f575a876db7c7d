"""The service under load: one server process, many connections, durable writes.

    python -m bench.http [--size 100000] [--connections 64] [--seconds 5] [--database sqlite,postgres] [--place /tmp]

wrk asks if it is there, else a small client of our own, which is slower and takes more of the machine. --size is how
many items lie on the list that is read from. Nothing is claimed to be fast that was not answered with 200.
"""

import argparse
import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import quantiles

import psutil

from bench._places import DISK, PLACES, flush_milliseconds
from rowlock import Engine

BATCH = 1_000
START = re.compile(r"at (http://[\d.]+:(\d+))")
# Each thread of wrk has a state of its own: its number and a count make a key that comes once.
LUA = """
local threads, count = 0, 0
function setup(thread) thread:set("thread_number", threads); threads = threads + 1 end
local function key() count = count + 1; return string.format("%d-%s-%09d", thread_number, ROUND, count) end
local function lines(many)
    local all = {}
    for i = 1, many do all[i] = key() end
    return table.concat(all, "\\n") .. "\\n"
end
request = function() return wrk.format(METHOD, PATH, nil, BODY) end
if MANY > 0 then request = function() return wrk.format("POST", PATH, nil, lines(MANY)) end end
if READ > 0 then request = function()
    return wrk.format("GET", PATH .. string.format("%09d", math.random(0, READ - 1)))
end end
"""


@dataclass(frozen=True)
class Load:
    """What is asked, and what is to be reached."""

    name: str
    path: str
    goal: int
    many: int = 0
    """Keys in the body of each request."""
    read: int = 0
    """Of how many items one is read."""


@dataclass(frozen=True)
class Rate:
    """What was reached."""

    requests: float
    p50: str
    p99: str
    wrong: int


def loads(size: int) -> list[Load]:
    return [
        # The many additions last: a server tidies up after them for a while, and has the other core for it.
        Load("get one item", "/v1/lists/names/items/", 8_000, read=size),
        Load("page of 100 items", "/v1/lists/names/items?count=100", 0),
        Load("livez", "/livez", 0),
        Load("add one item", "/v1/lists/one/items", 4_000, many=1),
        Load("add 1,000 items", "/v1/lists/many/items", 150_000, many=BATCH),
    ]


@contextmanager
def server(url: str, *, alone: bool = False) -> Iterator[tuple[str, psutil.Process]]:
    """A server process on the database: where it is, and its process; `alone` is without group commit."""
    usual = ["rowlock", "serve", "--port", "0", "--no-access-log", "-d", url]
    command = [sys.executable, "-m", *(["bench._alone", url] if alone else usual)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = next(filter(None, map(START.search, process.stderr)))
        yield found[1], psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def by_wrk(address: str, load: Load, connections: int, seconds: float) -> Rate:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        known = {"PATH": f'"{load.path}"', "METHOD": '"GET"', "BODY": "nil", "MANY": load.many, "READ": load.read}
        known["ROUND"] = f'"{time.time_ns()}"'
        script.write("".join(f"{name} = {value}\n" for name, value in known.items()) + LUA)
        script.flush()
        command = ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", script.name, address]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    return Rate(
        float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]),  # type: ignore[index]
        re.search(r"^\s+50%\s+(\S+)", said, re.MULTILINE)[1],  # type: ignore[index]
        re.search(r"^\s+99%\s+(\S+)", said, re.MULTILINE)[1],  # type: ignore[index]
        int(wrong[1]) if wrong else 0,
    )


def by_hand(address: str, load: Load, connections: int, seconds: float) -> Rate:
    """The same with a client of our own, in this process."""
    took, wrong = asyncio.run(asked(address, load, connections, seconds))
    cut = quantiles(took, n=100)
    return Rate(len(took) / seconds, f"{1000 * cut[49]:.2f}ms", f"{1000 * cut[98]:.2f}ms", wrong)


async def asked(address: str, load: Load, connections: int, seconds: float) -> tuple[list[float], int]:
    host, port = address.removeprefix("http://").split(":")
    took: list[float] = []
    wrong = 0
    until = time.perf_counter() + seconds

    async def ask(number: int) -> None:
        nonlocal wrong
        reader, writer = await asyncio.open_connection(host, int(port))
        count = 0
        while (start := time.perf_counter()) < until:
            writer.write(request(load, f"{number}-{start}", count))
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            await reader.readexactly(int(length[1]) if length else 0)
            wrong += b" 200 " not in head[:20]
            took.append(time.perf_counter() - start)
            count += 1
        writer.close()

    await asyncio.gather(*map(ask, range(connections)))
    return took, wrong


def request(load: Load, name: str, count: int) -> bytes:
    if not load.many:
        key = f"{hash((name, count)) % load.read:09}" if load.read else ""
        return f"GET {load.path}{key} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()
    body = "".join(f"{name}-{count}-{number}\n" for number in range(load.many))
    return f"POST {load.path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def measure(url: str, options: argparse.Namespace) -> bool:
    with Engine(url) as engine:
        engine["names"].add(f"{number:09}" for number in range(options.size))
    *_, one, _ = asked = loads(options.size)
    with server(url) as (address, process):
        reached = [tell(load, address, process, options) for load in asked]
    with server(url, alone=True) as (address, process):
        tell(replace(one, name="… without groups", path="/v1/lists/alone/items", goal=0), address, process, options)
    return all(reached)


def tell(load: Load, address: str, process: psutil.Process, options: argparse.Namespace) -> bool:
    """Measure one load and print what came of it; whether that is enough."""
    way = by_wrk if shutil.which("wrk") else by_hand
    before = sum(process.cpu_times()[:2])
    found = way(address, load, options.connections, options.seconds)
    cpu = 1e6 * (sum(process.cpu_times()[:2]) - before) / (found.requests * options.seconds)
    rate = found.requests * max(1, load.many)
    good = rate >= load.goal and not found.wrong
    line = f"  {load.name:<18} {rate:>10,.0f}/s   p50 {found.p50:>8}  p99 {found.p99:>8}  {cpu:>7,.0f} µs CPU a request"
    line += f"   {'pass' if good else 'MISS'} (≥ {load.goal:,})" if load.goal else ""
    print(line + (f"   {found.wrong} NOT ANSWERED WELL" if found.wrong else ""), flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--place", default=DISK)
    options = parser.parse_args()
    reached = []
    for database in options.database.split(","):
        flush = flush_milliseconds(options.place)
        print(f"{database}: {options.connections} connections, a flush takes {flush:.2f} ms", flush=True)
        with PLACES[database](options.place) as fresh:
            reached.append(measure(fresh(), options))
    return 0 if all(reached) else 1


if __name__ == "__main__":
    Path(DISK).mkdir(exist_ok=True)
    sys.exit(main())
