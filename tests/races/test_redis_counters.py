"""Numbers by way of Redis: whatever becomes of it, none comes twice."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import NamedTuple

import pytest
from tests.races.killing import until
from tests.redis_servers import Front, RedisServer

from rowlock import Engine, Invalid, RedisCounters, Unavailable
from rowlock.aio import AsyncRedisCounters
from rowlock.counters import MAX_NUMBER
from rowlock.errors import CounterSpent, RedisUnavailable

KEY = "rowlock:counter:orders"


@pytest.fixture
def server() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.remove()


@pytest.fixture
def second() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.remove()


@pytest.fixture
def front(server: RedisServer) -> Iterator[Front]:
    front = Front(server)
    yield front
    front.close()


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    with Engine(sqlite_url) as engine:
        yield engine


@pytest.fixture
def counters(engine: Engine, front: Front) -> Iterator[RedisCounters]:
    """Counters that find Redis where a failover may turn to another server."""
    with RedisCounters(engine, front.url, block=100, timeout=30) as counters:
        yield counters


@pytest.fixture
def others(engine: Engine, front: Front) -> Iterator[RedisCounters]:
    """Another process: it does not know what the first one has had."""
    with RedisCounters(engine, front.url, block=100, timeout=30) as counters:
        yield counters


def take(counters: RedisCounters, count: int) -> list[int]:
    return [counters.counter("orders").next() for _ in range(count)]


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "cockroach"])
def test_numbers_come_from_blocks_that_were_reserved_before(url: str, server: RedisServer) -> None:
    with Engine(url) as engine, RedisCounters(engine, server.url, block=10) as counters:
        orders = counters.counter("orders")
        assert ([orders.next() for _ in range(3)], orders.show()) == ([1, 2, 3], 10)
        assert (orders.take(7), orders.show()) == (range(4, 11), 10)
        assert (orders.take(4), orders.show()) == (range(11, 15), 20)


def test_what_does_not_fit_in_the_rest_of_a_block_begins_another(counters: RedisCounters) -> None:
    orders = counters.counter("orders")
    assert [orders.take(60), orders.take(60), orders.next()] == [range(1, 61), range(101, 161), 161]


def test_more_than_a_block_comes_from_the_database(counters: RedisCounters, engine: Engine) -> None:
    orders = counters.counter("orders")
    assert [orders.next(), orders.take(250), orders.next()] == [1, range(101, 351), 2]
    assert engine.counter("orders").next() == 351


def test_processes_share_a_block(counters: RedisCounters, others: RedisCounters) -> None:
    numbers = [number for _ in range(20) for number in (*take(counters, 1), *take(others, 1))]
    assert numbers == list(range(1, 41))


def test_two_databases_at_one_redis_do_not_mix(sqlite_url: str, front: Front, counters: RedisCounters) -> None:
    with Engine(f"{sqlite_url}.other") as other, RedisCounters(other, front.url, block=100) as theirs:
        pairs = [(take(counters, 1)[0], take(theirs, 1)[0]) for _ in range(30)]
    ours, others = zip(*pairs, strict=True)
    assert (len(set(ours)), len(set(others)), min(ours), min(others)) == (30, 30, 1, 1)


def test_numbers_beyond_what_redis_can_count_are_exact(counters: RedisCounters) -> None:
    orders = counters.counter("orders")
    orders.raise_to(2**60)
    assert [orders.next(), orders.take(3), orders.next()] == [
        2**60 + 1,
        range(2**60 + 2, 2**60 + 5),
        2**60 + 5,
    ]


def test_the_last_numbers_are_handed_out_too(counters: RedisCounters) -> None:
    orders = counters.counter("orders")
    orders.raise_to(MAX_NUMBER - 3)
    assert [orders.next(), orders.take(2)] == [MAX_NUMBER - 2, range(MAX_NUMBER - 1, MAX_NUMBER + 1)]
    with pytest.raises(CounterSpent):
        orders.next()


def test_a_counter_that_is_raised_leaves_its_block(counters: RedisCounters) -> None:
    assert take(counters, 2) == [1, 2]
    assert counters.counter("orders").raise_to(5000) == 5000
    assert take(counters, 2) == [5001, 5002]


def test_in_a_transaction_numbers_are_the_database_s(engine: Engine, counters: RedisCounters) -> None:
    take(counters, 1)
    with engine.transaction() as tx:
        assert counters.counter("orders").next(using=tx) == 101
    assert take(counters, 1) == [2]


def test_a_redis_that_was_emptied_repeats_nothing(server: RedisServer, counters: RedisCounters) -> None:
    before = take(counters, 5)
    server.say("flushall")
    assert (before, take(counters, 2)) == ([1, 2, 3, 4, 5], [101, 102])


def test_a_redis_that_lost_its_disk_repeats_nothing(server: RedisServer, counters: RedisCounters) -> None:
    take(counters, 5)
    server.kill()
    server.wipe()
    server.start()
    assert take(counters, 2) == [101, 102]


def test_a_redis_that_comes_back_with_an_old_snapshot_repeats_nothing(
    server: RedisServer, counters: RedisCounters, others: RedisCounters
) -> None:
    take(counters, 4)
    take(others, 1)
    server.say("save")
    take(counters, 20)
    server.kill()
    server.start()
    assert server.say("get", KEY).endswith(b" 1 100 5")
    assert (take(others, 2), take(counters, 2)) == ([101, 102], [103, 104])


class Crowd(NamedTuple):
    """Two processes, one of which has had most numbers, and the servers that they use one after the other."""

    server: RedisServer
    second: RedisServer
    counters: RedisCounters
    others: RedisCounters


@pytest.fixture
def crowd(server: RedisServer, second: RedisServer, counters: RedisCounters, others: RedisCounters) -> Crowd:
    """The second server knows of five numbers when it becomes a primary; by then 25 were handed out."""
    second.follow(server)
    assert take(counters, 4) + take(others, 1) == [1, 2, 3, 4, 5]
    until(lambda: second.say("get", KEY) == server.say("get", KEY))
    second.lead()
    assert take(counters, 20) == list(range(6, 26))
    assert second.say("get", KEY).endswith(b" 1 100 5")
    return Crowd(server, second, counters, others)


def test_a_promoted_replica_that_is_behind_repeats_nothing(crowd: Crowd, front: Front) -> None:
    front.turn_to(crowd.second)
    assert (take(crowd.others, 2), take(crowd.counters, 2)) == ([101, 102], [103, 104])


def test_two_primaries_at_once_repeat_nothing(crowd: Crowd, engine: Engine) -> None:
    with RedisCounters(engine, crowd.second.url, block=100, timeout=30) as elsewhere:
        numbers = [number for _ in range(150) for number in (*take(crowd.others, 1), *take(elsewhere, 1))]
    assert (len(set(numbers)), min(numbers)) == (300, 26)


def test_a_primary_that_went_and_came_back_with_the_past_of_another_repeats_nothing(crowd: Crowd) -> None:
    # The very process that has handed out 25 now holds what the other one knew: five. Its connections were never cut.
    crowd.server.follow(crowd.second)
    crowd.server.lead()
    assert crowd.server.say("get", KEY).endswith(b" 1 100 5")
    assert (take(crowd.others, 2), take(crowd.counters, 2)) == ([101, 102], [103, 104])


def test_what_a_copy_brought_back_is_noticed_by_who_has_had_more(server: RedisServer, counters: RedisCounters) -> None:
    take(counters, 5)
    old = server.say("get", KEY)
    take(counters, 20)
    server.say("set", KEY, old)
    assert take(counters, 2) == [101, 102]


def test_a_block_is_put_there_once_only(server: RedisServer, counters: RedisCounters) -> None:
    """As a driver or a proxy would that repeats a command of which it has no answer."""
    take(counters, 5)
    epoch, life, low, size, _ = server.say("get", KEY).decode().split()
    for there in ("", "0" * 32):
        assert counters._call("put", "orders", life, there, epoch, low, size, 0)[0] == "late"
    assert take(counters, 1) == [6]


def test_a_block_for_a_server_that_has_died_meanwhile_is_not_put_there(
    server: RedisServer, counters: RedisCounters
) -> None:
    take(counters, 5)
    life = server.say("get", KEY).decode().split()[1]
    server.kill()
    server.start()
    assert counters._call("put", "orders", life, "", "0" * 32, 1, 100, 0)[0] == "late"


def test_a_replica_hands_out_nothing(server: RedisServer, second: RedisServer, engine: Engine) -> None:
    second.follow(server)
    second.say("config", "set", "replica-read-only", "no")
    with RedisCounters(engine, second.url) as counters, pytest.raises(RedisUnavailable, match="is a replica"):
        take(counters, 1)
    assert engine.counters() == []


def test_a_place_that_holds_something_else_is_left_alone(server: RedisServer, counters: RedisCounters) -> None:
    server.say("set", KEY, "a cached page")
    with pytest.raises(RedisUnavailable, match="something else"):
        take(counters, 1)
    assert server.say("get", KEY) == b"a cached page"


def full(server: RedisServer) -> None:
    server.say("config", "set", "maxmemory-policy", "noeviction")
    server.say("config", "set", "maxmemory", "1")


def test_a_redis_without_memory_is_told(server: RedisServer, counters: RedisCounters) -> None:
    take(counters, 5)
    full(server)
    with pytest.raises(RedisUnavailable, match="has no memory left"):
        take(counters, 1)
    server.say("config", "set", "maxmemory", "0")
    assert take(counters, 1)[0] > 5


def test_the_database_stands_in_for_a_redis_without_memory(server: RedisServer, engine: Engine) -> None:
    with RedisCounters(engine, server.url, block=100, fallback="database") as counters:
        before = take(counters, 5)
        full(server)
        assert (before, take(counters, 3)) == ([1, 2, 3, 4, 5], [101, 102, 103])


def test_a_redis_that_is_not_there_is_told(engine: Engine, server: RedisServer) -> None:
    server.kill()
    with RedisCounters(engine, server.url) as counters, pytest.raises(Unavailable, match="cannot be reached") as told:
        take(counters, 1)
    assert told.value.http_status == 503


def test_the_database_stands_in_for_a_redis_that_is_not_there_until_it_comes(
    sqlite_url: str, server: RedisServer
) -> None:
    from rowlock.environment import Environment

    passed = [0.0]
    with Engine(sqlite_url, environment=Environment(monotonic=lambda: passed[0])) as engine:
        server.kill()
        with RedisCounters(engine, server.url, block=100, fallback="database") as counters:
            assert take(counters, 3) == [1, 2, 3]
            server.start()
            assert take(counters, 1) == [4]
            passed[0] = 2.0
            assert (take(counters, 2), engine.counter("orders").show()) == ([5, 6], 104)


def test_a_wrong_password_is_told_without_it(engine: Engine, server: RedisServer) -> None:
    server.say("config", "set", "requirepass", "right")
    url = server.url.replace("redis://", "redis://:wr0ng-secret@")
    with RedisCounters(engine, url) as counters, pytest.raises(RedisUnavailable, match="password") as told:
        take(counters, 1)
    assert "wr0ng" not in str(told.value) + repr(counters)


def test_a_user_who_may_not_ask_who_the_server_is_is_told(engine: Engine, server: RedisServer) -> None:
    server.say("acl", "setuser", "ann", "on", ">pw", "~*", "+@all", "-info")
    url = server.url.replace("redis://", "redis://ann:pw@")
    with RedisCounters(engine, url) as counters, pytest.raises(RedisUnavailable, match="INFO"):
        take(counters, 1)
    assert engine.counters() == []


def test_a_redis_that_hangs_is_told(engine: Engine, server: RedisServer) -> None:
    with RedisCounters(engine, server.url, timeout=2) as counters:
        take(counters, 1)
        with closing(server.client) as pausing:
            pausing.client_pause(60_000)
            with pytest.raises(RedisUnavailable, match="in time"):
                take(counters, 1)


def test_a_restart_is_no_error(server: RedisServer, counters: RedisCounters) -> None:
    for _ in range(3):
        take(counters, 2)
        server.kill()
        server.start()
    assert take(counters, 2) == [301, 302]


def test_many_threads_of_one_process_share_blocks(counters: RedisCounters, engine: Engine) -> None:
    with ThreadPoolExecutor(16) as threads:
        numbers = list(threads.map(lambda _: counters.counter("orders").next(), range(1000)))
    assert sorted(numbers) == list(range(1, 1001))
    assert engine.counter("orders").show() == 1000


def test_who_refills_at_the_same_time_repeats_nothing(engine: Engine, front: Front) -> None:
    many = [RedisCounters(engine, front.url, block=5, timeout=30) for _ in range(8)]
    start = threading.Barrier(8)

    def work(counters: RedisCounters) -> list[int]:
        start.wait()
        return take(counters, 40)

    with ThreadPoolExecutor(8) as threads:
        numbers = [number for each in threads.map(work, many) for number in each]
    assert len(set(numbers)) == 320
    for each in many:
        each.close()


@pytest.mark.parametrize("wrong", [{"block": 0}, {"block": 1_000_001}, {"block": True}, {"fallback": "hope"}])
def test_what_cannot_be_is_refused(engine: Engine, wrong: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        RedisCounters(engine, "redis://localhost", **wrong)


def test_an_address_that_is_none_is_refused(engine: Engine) -> None:
    with pytest.raises(Invalid, match="invalid Redis address"):
        RedisCounters(engine, "http://localhost")


def test_a_name_or_count_that_cannot_be_is_refused(counters: RedisCounters) -> None:
    with pytest.raises(Invalid):
        counters.counter("a*")
    with pytest.raises(Invalid):
        counters.counter("orders").take(0)


def test_coroutines_take_numbers_too(engine: Engine, counters: RedisCounters) -> None:
    async def count() -> list[int]:
        orders = AsyncRedisCounters.over(counters).counter("orders")
        return await asyncio.gather(*(orders.next() for _ in range(50)))

    assert sorted(asyncio.run(count())) == list(range(1, 51))
