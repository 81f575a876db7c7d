"""A hundred thousand lists that may have work: looking through them takes no memory, and one among them is found."""

import re
from pathlib import Path

import pytest
from tests.faces.waiting import until
from tests.receivers import receiver, said
from tests.worker.running import running

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
