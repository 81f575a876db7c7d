"""Very many lists: looking through them takes no memory, one among them is found, and short ones share transactions."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.faces.waiting import until
from tests.receivers import receiver, said
from tests.waiting import WAIT_SECONDS
from tests.worker.running import running, work_off

from rowlock import Engine, Worker

MANY = 100_000
AWAKE = f"""
    insert into rowlock_lists (name, wake_at)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {MANY})
    select 'list' || n, n from numbers
"""
BEGIN_ANEW = "5"


def memory(what: str) -> int:
    """Bytes of this process, by what the system calls them."""
    found = re.search(rf"^{what}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024


@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("postgres", marks=pytest.mark.torture)])
def test_one_list_is_found_among_very_many_that_are_awake(engine: Engine) -> None:
    with engine.transaction() as tx:
        tx.execute(AWAKE)
    with receiver(said({"done": True})) as server:
        engine["zzz"].settings(processor={"url": server.url})
        engine["zzz"].add("a")
        worker = Worker(engine)
        worker.process("*", allow=["localhost"])
        Path("/proc/self/clear_refs").write_text(BEGIN_ANEW)
        before = memory("VmRSS")
        with running(worker):
            until(lambda: engine["zzz"].counts().total == 0)
        grown = memory("VmHWM") - before
    assert (len(server.heard), grown < 16_000_000) == (1, True)


def test_lists_of_one_item_are_searched_many_at_a_time(url: str) -> None:
    events: list[Any] = []
    with Engine(url, history=events.append) as engine:
        with engine.transaction() as tx:
            for number in range(100):
                tx[f"list{number}"].add("a")
        seen: list[str] = []
        worker = Worker(engine, concurrency=100)
        worker.on("*", lambda item: seen.append(item.list))
        work_off(worker)
    searches = [event for event in events if event["phase"] == "ok" and "claims.take_" in event["operation"]]
    assert (len(seen), len(searches) < 50) == (100, True)


def test_a_list_without_work_does_not_delay_the_next_one(engine: Engine) -> None:
    engine["empty"].add("a")
    engine["empty"].done("a")
    engine["full"].add("a")
    worker = Worker(engine, flush="1h")

    @worker.on("*", batch=1)
    def handle(_: Any) -> None:
        worker.stop()

    with running(worker) as thread:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
