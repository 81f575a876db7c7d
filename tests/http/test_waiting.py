"""Claims that wait are answered when there is work, time is up or the service stops; who leaves takes nothing."""

import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import msgspec
from tests.http.serving import Client, Serving, until
from tests.http.working import Remote
from tests.waiting import WAIT_SECONDS

from rowlock import Engine

ITEMS = "/v1/lists/work/items"


def waits(served: Serving, count: int, name: str = "work") -> bool:
    return len(served.service.claimer.long_poll._lines.get(name, ())) == count


def waiting(served: Serving, threads: ThreadPoolExecutor, count: int, name: str = "work") -> list[Future[list[str]]]:
    futures = [threads.submit(Remote(served.client).keys, name, wait="60s") for _ in range(count)]
    until(lambda: waits(served, count, name))
    return futures


def test_a_claim_is_answered_when_work_comes_by_http(served: Serving) -> None:
    with ThreadPoolExecutor(1) as threads:
        [claim] = waiting(served, threads, 1)
        served.client("POST", ITEMS, b"a\n")
        assert claim.result(WAIT_SECONDS) == ["a"]


def test_a_claim_is_answered_when_work_comes_from_elsewhere(served: Serving, url: str) -> None:
    with ThreadPoolExecutor(1) as threads, Engine(url) as other:
        [claim] = waiting(served, threads, 1)
        other["work"].add("a")
        assert claim.result(WAIT_SECONDS) == ["a"]


def test_a_claim_is_answered_when_an_item_becomes_due(served: Serving) -> None:
    served.client("POST", f"{ITEMS}?due=1s", b"a\n")
    with ThreadPoolExecutor(1) as threads:
        [claim] = waiting(served, threads, 1)
        assert claim.result(WAIT_SECONDS) == ["a"]


def test_each_of_many_gets_one(served: Serving) -> None:
    with ThreadPoolExecutor(10) as threads:
        claims = waiting(served, threads, 10)
        served.client("POST", ITEMS, "\n".join(map(str, range(10))))
        assert sorted(key for claim in claims for key in claim.result(WAIT_SECONDS)) == sorted(map(str, range(10)))


def test_lists_are_waited_for_apart(served: Serving) -> None:
    with ThreadPoolExecutor(2) as threads:
        [one], [two] = waiting(served, threads, 1, "one"), waiting(served, threads, 1, "two")
        served.client("POST", "/v1/lists/two/items", b"b\n")
        assert two.result(WAIT_SECONDS) == ["b"]
        assert not one.done()
        served.client("POST", "/v1/lists/one/items", b"a\n")
        assert one.result(WAIT_SECONDS) == ["a"]


def test_time_that_is_up_is_an_empty_answer(ask: Client) -> None:
    assert Remote(ask).keys(wait=0.05) == []


def test_a_lost_session_does_not_wait_in_others_way(served: Serving) -> None:
    with ThreadPoolExecutor(2) as threads:
        lost = Remote(served.client)
        body = {"session": lost.session, "wait": "60s"}
        gone = threads.submit(served.client, "POST", "/v1/lists/work/claims", body)
        until(lambda: waits(served, 1))
        alive = threads.submit(Remote(served.client).keys, wait="60s")
        until(lambda: waits(served, 2))
        lost.close()
        served.client("POST", ITEMS, b"a\n")
        assert (alive.result(WAIT_SECONDS), gone.result(WAIT_SECONDS).status) == (["a"], 409)


def test_who_leaves_takes_nothing_with_them(served: Serving) -> None:
    remote = Remote(served.client)
    body = msgspec.json.encode({"session": remote.session, "wait": "60s"})
    leaving = socket.create_connection((served.client.host, served.client.port))
    head = f"POST /v1/lists/work/claims HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
    leaving.sendall(head.encode() + body)
    until(lambda: waits(served, 1))
    leaving.close()
    until(lambda: waits(served, 0))
    served.client("POST", ITEMS, b"a\n")
    assert remote.keys() == ["a"]


def test_a_service_that_stops_answers_who_waits(served: Serving) -> None:
    with ThreadPoolExecutor(1) as threads:
        [claim] = waiting(served, threads, 1)
        served.server.should_exit = True
        assert claim.result(WAIT_SECONDS) == []


def test_nobody_looks_while_nobody_waits(served: Serving) -> None:
    assert Remote(served.client).keys(wait=0.05) == []
    until(lambda: not any(thread.name == "rowlock http hints" for thread in threading.enumerate()))
