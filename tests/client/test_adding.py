"""Adding much over HTTP: all of it or nothing, part by part where a server takes no more at once."""

import tracemalloc
from collections.abc import Iterator

import pytest
from tests.client.conftest import client_of
from tests.http.serving import serving

from rowlock import Added, Client, Engine, Invalid, NewItem
from rowlock.api.server_limits import MB, ServerLimits
from rowlock.errors import AlreadyThere, TooLarge

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def narrow(sqlite_url: str) -> Iterator[Client]:
    """A client of a server that takes little at once."""
    limits = ServerLimits(body_bytes=5 * MB)
    with Engine(sqlite_url) as engine, serving(engine, limits) as served, client_of(served) as client:
        yield client


def keys(count: int) -> Iterator[str]:
    return (f"{number:0400}" for number in range(count))


def test_an_invalid_last_line_adds_nothing(client: Client) -> None:
    with pytest.raises(Invalid, match="line 5001"):
        client["names"].add([*keys(5_000), "two\nlines"])
    assert client.lists() == []


def test_a_strict_add_is_all_or_nothing(client: Client) -> None:
    client["names"].add("there")
    with pytest.raises(AlreadyThere):
        client["names"].add([*keys(5_000), "there"], strict=True)
    assert client["names"].counts().ready == 1


def test_a_large_add_is_sent_in_parts(narrow: Client) -> None:
    assert narrow["names"].add(keys(26_000)) == Added(26_000, 0)
    assert narrow["names"].counts().ready == 26_000


def test_a_strict_add_that_needs_parts_is_refused(narrow: Client) -> None:
    with pytest.raises(TooLarge, match="at once"):
        narrow["names"].add(keys(26_000), strict=True)
    assert narrow.lists() == []


@pytest.mark.torture
def test_many_lines_take_little_memory(client: Client) -> None:
    client["names"].add("warm")
    tracemalloc.start()
    client["names"].add(keys(35_000))  # 14 megabytes on the wire, to a server in this process
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * MB


def test_items_have_the_trace_that_they_were_added_in(client: Client) -> None:
    client["names"].add(["a", "b"], trace=TRACE)
    client["names"].add(["c", {"key": "d", "data": 1}], trace=TRACE)
    client["names"].add("e")
    assert [item.trace for item in client["names"]] == [TRACE, TRACE, TRACE, TRACE, None]


def test_items_keep_all_their_fields(client: Client) -> None:
    client["names"].settings(gates=("first", "second"), manual=True)
    entries = ["a", {"key": "b", "data": {"n": [1, None]}, "priority": 0}, NewItem("c", due="1h", gate=1), "d"]
    assert client["names"].add(entries, data="shared") == Added(4, 0)
    found = {item.key: (item.data, item.priority, item.gate, item.state) for item in client["names"]}
    assert found == {
        "a": ("shared", 5, 0, "ready"),
        "b": ({"n": [1, None]}, 0, 0, "ready"),
        "c": (None, 5, 1, "gated"),
        "d": ("shared", 5, 0, "ready"),
    }
    assert client["names"].add("e", gate="second").added == 1
    assert client["names"].show("e").gate == 1


def test_a_report_counts_the_items_that_were_written(client: Client) -> None:
    written: list[int] = []
    client["names"].add(keys(25_000), report=written.append)
    assert written == [10_000, 20_000, 25_000]


def test_many_keys_are_changed_in_several_requests(narrow: Client) -> None:
    narrow["names"].add(keys(15_000))
    assert narrow["names"].done(list(keys(15_000))) == 15_000
