"""An asynchronous standby takes the place of its primary, and commits are lost: it is named, and work goes on."""

import time
from collections.abc import Iterator

import pytest
from tests.cluster.standby import Standby
from tests.servers import NoServer, Server
from tests.waiting import until

from rowlock import Counts, Engine, diagnostics

pytestmark = pytest.mark.torture

SAFE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


@pytest.fixture
def primary() -> Iterator[Server]:
    """A server with safe settings and our tables."""
    try:
        server = Server(**SAFE).start()
    except NoServer as why:
        pytest.skip(str(why))
    with Engine(server.url()) as engine:
        engine.migrate()
        engine.upkeep()
    yield server
    server.remove()


@pytest.fixture
def standby(primary: Server) -> Iterator[Standby]:
    """A standby that follows it asynchronously."""
    server = Standby(primary, **SAFE).start()
    yield server
    server.remove()


def risks(engine: Engine) -> dict[str, str]:
    """What doctor says is at risk."""
    findings = diagnostics.examine(engine.database, time.time)
    return {each.name: each.what for each in findings if each.state == diagnostics.RISK}


def received(primary: Server, standby: Standby) -> bool:
    """Whether the standby has applied all that the primary has committed, flushed or not."""
    with primary.connect() as one, standby.connect() as other:
        [written] = one.execute("select pg_current_wal_insert_lsn()").fetchone() or [None]
        [applied] = other.execute("select pg_last_wal_replay_lsn() >= %s::pg_lsn", [written]).fetchone() or [None]
        return bool(applied)


def test_doctor_names_a_standby_that_commits_do_not_wait_for(primary: Server, standby: Standby) -> None:
    with Engine(primary.url()) as engine:
        until(lambda: risks(engine))
        assert risks(engine) == {
            "standbys": "1 follow without a commit waiting for them: a failover can lose confirmed commits"
        }
        standby.stop()
        until(lambda: not risks(engine))


def test_doctor_names_a_synchronous_standby_that_is_missing(primary: Server) -> None:
    with primary.connect() as connection:
        connection.execute("alter system set synchronous_standby_names = 'other'")
        connection.execute("select pg_reload_conf()")
    with Engine(primary.url()) as engine:
        until(lambda: "standbys" in risks(engine))
        assert risks(engine)["standbys"].startswith("every commit waits")


@pytest.mark.fault("asynchronous failover that loses commits", 1)
def test_a_claim_whose_settlement_a_failover_lost_is_free_again(primary: Server, standby: Standby) -> None:
    hosts = f"{primary.folder},{standby.folder}"
    url = f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs=read-write"
    with Engine(url) as engine, engine.session() as session:
        engine["work"].add("a")
        claim = session.take("work")
        until(lambda: received(primary, standby))
        standby.stop()
        claim.done(claim.items[0])
        claim.settle()
        primary.kill()
        standby.start()
        standby.promote()
        kept = engine["work"].counts()
        engine.upkeep()
        assert (kept, engine["work"].counts()) == (Counts(claimed=1), Counts(ready=1))
        assert risks(engine)["epoch"].endswith("from 1 to 2; the last commits before it may be lost")
