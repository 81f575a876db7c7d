"""The dashboard on a large database: what each page takes, and what open pages cost a drain.

    python -m bench.dashboard [--items 1000000] [--lists 1000] [--rounds 7] [--drained 200000]
                              [--database sqlite,postgres] [--place /tmp]

Pages are asked for within this process, each several times; the first time, which fills caches, does not count. A page
must take at most 150 ms and 5 statements.

Then another process drains a list, in rounds without and with open tabs by turns, so that a load that changes meets
both. A tab follows the events of the service and reads the overview again when they say so, as a browser does. Counted
is the CPU time of the drain, of the server and of the database together. What the tabs add to it is shown as a share of
one core over the time of the drain: a drain that keeps one core busy, which the server and the database share, would be
slower by that share. It must be at most 2 %. The rate of the drain is shown beside it.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tests.statements import Statements

from bench._children import CONTEXT
from bench._places import DISK, PLACES
from rowlock import Engine
from rowlock.http.service import Service

MAX_MILLISECONDS, MAX_STATEMENTS = 150, 5
FAILED, HELD = 500, 200
BATCH = 1_000
TABS = (0, 1, 4)
MAX_COST = 0.02
PARENT, USER, OWN, REAPED = 1, 11, 13, 15
"""Fields of /proc/PID/stat after the name: the parent; CPU time, two of its own, then two of children that ended."""
PAGES = (
    "/",
    "/?span=7d",
    "/search?q=list/",
    "/lists/big",
    "/lists/big?span=7d",
    "/lists/gated",
    "/lists/big/items",
    "/lists/big/items?q=state:failed",
    "/lists/big/items/0",
    "/lists/big/failures",
    "/sessions",
    "/schedules",
    "/topics",
    "/topics/news",
    "/counters",
    "/system",
    "/docs",
    "/help",
)


def fill(engine: Engine, *, items: int, lists: int) -> None:
    """Fill lists of which one has half of all items; some are failed, delayed, claimed or wait at a gate."""
    each = items // 2 // lists
    for number in range(lists - 2):
        engine[f"list/{number}"].add(str(key) for key in range(each))
    engine["gated"].settings(gates=("fetch", "scale"))
    engine["gated"].add((str(key) for key in range(each)), gate="scale")
    engine["big"].add(str(key) for key in range(items // 2))
    engine["big"].add("later", due="1h")
    engine.schedule("nightly").set("big", cron="0 3 * * *")
    engine.topic("news").define(series="text")
    with engine.session() as session:
        claim = session.take("big", limit=FAILED)
        assert claim is not None
        for number, item in enumerate(claim.items):
            claim.fail(item, f"Status {500 + number % 10}")
        claim.settle()


@contextmanager
def working(engine: Engine) -> Iterator[None]:
    """Hold claims in many lists."""
    with engine.session(holder="bench") as session:
        for number in range(HELD):
            session.take(f"list/{number}", limit=10)
        yield


def scope_of(path: str, **headers: str) -> dict[str, Any]:
    """Return the scope of a request for a page."""
    raw, _, query = path.partition("?")
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http",
        "method": "GET",
        "path": raw,
        "raw_path": raw.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"accept", b"text/html"), *given],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


async def ask(service: Service, path: str, *, heard: Callable[[bytes], None] | None = None, **headers: str) -> None:
    """Ask for a page and read all of it; `heard` is called with each piece of the body."""
    statuses: list[int] = []
    waiting = asyncio.Event()
    asked = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        message = next(asked, None)
        if message is None:
            await waiting.wait()
        return message

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 200))
        if heard is not None:
            heard(message.get("body", b""))

    await service(scope_of(path, **headers), receive, send)
    assert set(statuses) == {200}, (path, statuses)


async def measure(service: Service, statements: Statements, *, rounds: int) -> bool:
    """Ask for every page, and print what each took."""
    print(f"  {'page':<34} {'median ms':>9} {'worst ms':>9} {'CPU ms':>7} {'statements':>10}")
    is_good = True
    await ask(service, "/help")
    service._background.stop()  # upkeep would be counted with the pages
    for path in PAGES:
        await ask(service, path)
        took, counts, spent = [], [], time.process_time()
        for _ in range(rounds):
            start, before = time.perf_counter(), statements.count
            await ask(service, path)
            took.append(1_000 * (time.perf_counter() - start))
            counts.append(statements.count - before)
        cpu, count = 1_000 * (time.process_time() - spent) / rounds, min(counts)
        good = median(took) <= MAX_MILLISECONDS and count <= MAX_STATEMENTS
        is_good &= good
        print(
            f"  {path:<34} {median(took):>9.1f} {max(took):>9.1f} {cpu:>7.1f} {count:>10g}   {'' if good else 'MISS'}"
        )
    return is_good


def drain(url: str, pipe: Any) -> None:
    """Drain a list in a process of its own, and tell how long that took and its CPU time."""
    with Engine(url) as engine, engine.session() as session:
        start, spent = time.perf_counter(), time.process_time()
        while claim := session.take("drained", limit=BATCH):
            for item in claim.items:
                claim.done(item)
            claim.settle()
        pipe.send((time.perf_counter() - start, time.process_time() - spent))


async def keep_open(service: Service, is_open: asyncio.Event) -> None:
    """Be an open tab: follow the events, and read the overview again when they say that something has changed."""
    changed = asyncio.Event()

    def hear(text: bytes) -> None:
        if b"changed" in text:
            changed.set()

    events = asyncio.create_task(ask(service, "/live", heard=hear))
    try:
        while True:
            await changed.wait()
            changed.clear()
            await ask(service, "/", hx_request="true")
            is_open.set()
    finally:
        events.cancel()


class Round(NamedTuple):
    """What one drain took: seconds, and the CPU seconds of the drain, of the server and of the database."""

    seconds: float
    drain: float
    server: float
    database: float

    @property
    def cpu(self) -> float:
        """All of them together."""
        return self.drain + self.server + self.database


async def measure_round(service: Service, url: str, *, tabs: int, drained: int) -> Round:
    """Drain a list while some tabs are open."""
    service.engine["drained"].add(str(number) for number in range(drained))
    ours, theirs = CONTEXT.Pipe()
    opened = [asyncio.Event() for _ in range(tabs)]
    open_tabs = [asyncio.create_task(keep_open(service, each)) for each in opened]
    for each in opened:
        await each.wait()
    child = CONTEXT.Process(target=drain, args=(url, theirs))
    server = postmaster(service.engine)
    spent, before = time.process_time(), database_cpu(server)
    child.start()
    seconds, cpu = await asyncio.to_thread(ours.recv)
    found = Round(seconds, cpu, time.process_time() - spent, database_cpu(server) - before)
    for task in open_tabs:
        task.cancel()
    await asyncio.gather(*open_tabs, return_exceptions=True)
    await asyncio.to_thread(child.join)
    return found


def postmaster(engine: Engine) -> int | None:
    """Return the process that all processes of a PostgreSQL server are children of; None for SQLite."""
    if engine.dialect == "sqlite":
        return None
    with engine.transaction() as tx:
        (backend,) = tx.execute("select pg_backend_pid()").fetchone()
    return int(stat(backend)[PARENT])


def database_cpu(server: int | None) -> float:
    """Return the CPU seconds of a server with all its processes, those that have ended too; 0 for SQLite."""
    if server is None:
        return 0.0
    ticks = sum(map(int, stat(server)[USER:REAPED]))
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = stat(int(path.name))
            ticks += sum(map(int, fields[USER:OWN])) if int(fields[PARENT]) == server else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def stat(process: int) -> list[str]:
    """Return the fields of a process after its name, as `man 5 proc` counts them from the third."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


async def measure_drain(service: Service, url: str, *, rounds: int, drained: int) -> bool:
    """Drain by turns without and with open tabs, and print what the tabs cost."""
    found: dict[int, list[Round]] = {tabs: [] for tabs in TABS}
    for _ in range(rounds):
        for tabs in TABS:
            found[tabs].append(await measure_round(service, url, tabs=tabs, drained=drained))
    alone = median(each.cpu for each in found[0])
    good = [_print_cost(tabs, each, drained=drained, alone=alone) for tabs, each in found.items()]
    return all(good)


def _print_cost(tabs: int, found: list[Round], *, drained: int, alone: float) -> bool:
    seconds, *parts = (median(each) for each in zip(*found, strict=True))
    cost = (median(each.cpu for each in found) - alone) / seconds
    shown = ", ".join(f"{name} {part:.2f}" for name, part in zip(Round._fields[1:], parts, strict=True))
    mark = "" if cost <= MAX_COST else "MISS"
    print(
        f"  {tabs} open tabs: {drained / seconds:>9,.0f} items/s, {cost:+.1%} of a core (CPU: {shown} s)   {mark}",
        flush=True,
    )
    return not mark


def run(url: str, options: argparse.Namespace) -> bool:
    """Fill a database and measure on it."""
    statements = Statements()
    with Engine(url) as engine:
        fill(engine, items=options.items, lists=options.lists)
    with Engine(url) as worker, working(worker), Engine(url, wrap=statements) as engine:

        async def measured() -> bool:
            is_good = await measure(Service(engine, loopback=True), statements, rounds=options.rounds)
            service = Service(engine, loopback=True)
            is_cheap = await measure_drain(service, url, rounds=options.rounds, drained=options.drained)
            return is_good and is_cheap

        return asyncio.run(measured())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", "--size", type=int, default=1_000_000)
    parser.add_argument("--lists", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--drained", type=int, default=200_000)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--place", default=DISK)
    options = parser.parse_args()
    reached = []
    for database in options.database.split(","):
        print(f"{database}: {options.items:,} items in {options.lists:,} lists", flush=True)
        with PLACES[database](options.place) as fresh:
            reached.append(run(fresh(), options))
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
