"""Who comes first where there are several servers: the database says, and only to one."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.http.serving import Client, Reply, serving
from tests.waiting import WAIT_SECONDS

from rowlock import Engine

CLIENTS = 6
ROUNDS = 8


@pytest.fixture
def clients(url: str) -> Iterator[list[Client]]:
    """Clients of two servers on one database."""
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(stack.enter_context(Engine(url)))) for _ in range(2)]
        yield [servers[number % 2].client for number in range(CLIENTS)]


def race(clients: list[Client], ask: Callable[[Client, int], Reply]) -> list[int]:
    """The statuses of what all ask at the same moment."""
    barrier = threading.Barrier(len(clients))

    def run(number: int) -> int:
        barrier.wait(WAIT_SECONDS)
        return ask(clients[number], number).status

    with ThreadPoolExecutor(len(clients)) as threads:
        return sorted(threads.map(run, range(len(clients))))


ONE_WINNER = [201, *[412] * (CLIENTS - 1)]
PLACES = ["/v1/lists/new{0}", "/v1/lists/work/items/new{0}", "/v1/lists/list{0}/items/new", "/v1/schedules/new{0}"]


def body(place: str, number: int) -> dict[str, object]:
    if "schedules" in place:
        return {"list": f"list{number}", "every": "1w"}
    return {"data": number} if "items" in place else {"attempts": number + 1}


@pytest.mark.parametrize("place", PLACES)
def test_of_all_who_would_make_a_thing_that_is_not_there_one_does(clients: list[Client], place: str) -> None:
    def make(client: Client, number: int) -> Reply:
        return client("PUT", path, body(path, number), if_none_match="*")

    found = []
    for each in range(ROUNDS):
        path = place.format(each)
        found.append(race(clients, make))
    assert found == [ONE_WINNER] * ROUNDS


@pytest.mark.parametrize("place", PLACES)
def test_of_all_who_make_a_thing_one_hears_that_it_is_new(clients: list[Client], place: str) -> None:
    path = place.format("")
    found = race(clients, lambda client, number: client("PUT", path, body(path, number)))
    assert found == [*[200] * (CLIENTS - 1), 201]


def test_a_thing_that_was_refused_has_left_nothing(clients: list[Client]) -> None:
    ask = clients[0]
    assert ask("PUT", "/v1/lists/none/items/a", {"data": 1}, if_match='"7"').status == 412
    assert ask("PUT", "/v1/lists/none", {"attempts": 1}, if_match="*").status == 412
    assert ask("PUT", "/v1/schedules/none", {"list": "none", "every": "1w"}, if_match='"7"').status == 412
    assert (ask("GET", "/v1/lists").text, ask("GET", "/v1/schedules").text) == ("", "")
