"""A PostgreSQL server is killed and comes back after a while, and its workers go on within seconds."""

import time
from collections.abc import Callable

import pytest
from tests.cluster.test_patroni import WORKING
from tests.races.killing import Gang, account, ranks, settled
from tests.servers import NoServer, Server
from tests.torture import scaled
from tests.waiting import until

from rowlock import Engine

pytestmark = pytest.mark.torture

MAX_RESUME_SECONDS = 5
ITEMS_PER_RESTART = 1_000
RESTARTS = scaled(5)


def restart(server: Server, engine: Engine, number: int, *, away: float) -> float:
    """Kill the server while items are worked; return how many seconds after its return work went on."""
    before = ranks(engine)[0]
    engine["work"].add(f"{number:03}-{item:06}" for item in range(ITEMS_PER_RESTART))
    until(lambda: ranks(engine)[0] > before)
    server.kill()
    time.sleep(away)  # the outage itself: workers meet it, whatever the machine does meanwhile
    server.start()
    back_at = time.monotonic()
    found = ranks(engine)[0]
    until(lambda: ranks(engine)[0] > found)
    return time.monotonic() - back_at


@pytest.mark.parametrize(
    ("away", "restarts"),
    [
        pytest.param(2, RESTARTS, id="short", marks=pytest.mark.fault("PostgreSQL killed", RESTARTS)),
        pytest.param(40, 1, id="longer than patience", marks=pytest.mark.fault("PostgreSQL killed", 1)),
    ],
)
def test_work_resumes_when_the_server_is_back(
    away: float, restarts: int, record_property: Callable[[str, object], None]
) -> None:
    try:
        server = Server(synchronous_commit="on", fsync="on", full_page_writes="on").start()
    except NoServer as why:
        pytest.skip(str(why))
    try:
        with Engine(server.url()) as engine:
            engine.migrate()
            with engine.transaction() as tx:
                tx.execute("create table ranks (key varchar(20) primary key)")
            gang = Gang(server.url(), WORKING, 3)
            took = [restart(server, engine, number, away=away) for number in range(restarts)]
            until(lambda: engine["work"].counts().total == 0)
            gang.end()
            assert account(engine) == settled(restarts * ITEMS_PER_RESTART)
    finally:
        server.remove()
    record_property("seconds until work went on after PostgreSQL was back", max(took))
    assert max(took) <= MAX_RESUME_SECONDS
