"""The leader of a Patroni cluster in strict synchronous mode is killed, and each item is still done exactly once."""

import time
from collections.abc import Callable, Iterator

import pytest
from tests.cluster.patroni import Cluster, NoPatroni
from tests.races.killing import Gang, account, ranks, settled
from tests.servers import NoServer
from tests.torture import scaled
from tests.waiting import until

from rowlock import Engine, diagnostics, epochs

pytestmark = pytest.mark.torture

MAX_RESUME_SECONDS = 30
ITEMS_PER_KILL = 2_000
KILLS = scaled(3)
WORKING = """
import time
worker = Worker(engine, concurrency=2)

@worker.on("work", batch=20, attempts=1000)
def handle(items, tx):
    tx.executemany(f"insert into ranks (key) values ({sign})", [(item.key,) for item in items])
    time.sleep(0.5)

worker.run()
"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three nodes, one of them the leader, one its synchronous standby."""
    try:
        made = Cluster()
    except (NoPatroni, NoServer) as why:
        pytest.skip(str(why))
    try:
        yield made.start()
    finally:
        made.remove()


def kill_leader(cluster: Cluster, engine: Engine, number: int) -> float:
    """Kill the leader while items are worked; return after how many seconds work went on."""
    until(cluster.whole)
    before = ranks(engine)[0]
    engine["work"].add(f"{number:03}-{item:06}" for item in range(ITEMS_PER_KILL))
    until(lambda: ranks(engine)[0] > before)
    leader = cluster.leader()
    assert leader is not None
    cluster.kill_node(leader)
    killed_at = time.monotonic()
    until(lambda: cluster.leader() not in (None, leader))
    found = ranks(engine)[0]
    until(lambda: ranks(engine)[0] > found)
    took = time.monotonic() - killed_at
    cluster.start_node(leader)
    return took


@pytest.mark.fault("Patroni leader killed", KILLS)
def test_leaders_are_killed_and_each_item_is_done_once(
    cluster: Cluster, record_property: Callable[[str, object], None]
) -> None:
    with Engine(cluster.url()) as engine:
        engine.migrate()
        with engine.transaction() as tx:
            tx.execute("create table ranks (key varchar(20) primary key)")
        engine.upkeep()
        gang = Gang(cluster.url(), WORKING, 3)
        took = [kill_leader(cluster, engine, number) for number in range(KILLS)]
        until(lambda: engine["work"].counts().total == 0)
        gang.end()
        engine.upkeep()
        assert account(engine) == settled(KILLS * ITEMS_PER_KILL)
        assert [epoch.lossy for epoch in engine.read(epochs.last)] == [False, False]
        until(cluster.whole)
        findings = {each.name: each.state for each in diagnostics.examine(engine.database, time.time)}
    record_property("seconds until work went on after a Patroni leader was killed", max(took))
    assert (findings["standbys"], findings["epoch"]) == (diagnostics.FINE, diagnostics.INFORMATION)
    assert max(took) <= MAX_RESUME_SECONDS
