"""Stored data that is nested deeper than is allowed stops neither a client nor its worker."""

import pytest
from tests.http.serving import Serving
from tests.worker.running import work_off

from rowlock import Client, Worker
from rowlock.errors import InvalidData


@pytest.fixture(params=[129, 970, 5_000])
def planted(client: Client, served: Serving, request: pytest.FixtureRequest) -> Client:
    """A client whose list `work` has three items, one of them with data that no add would take."""
    client["work"].add(["a", "deep", "z"], data=[1])
    data = "[" * request.param + "]" * request.param
    with served.service.engine.transaction() as tx:
        tx.execute(f"update rowlock_items set data = '{data}' where key = 'deep'")
    return client


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_worker_fails_the_item_and_goes_on(planted: Client, concurrency: int) -> None:
    seen: list[str] = []
    worker = Worker(planted, concurrency=concurrency)
    worker.on("work", lambda item: seen.append(item.key))
    work_off(worker)
    [failure] = planted["work"].failures("deep")
    assert (sorted(seen), planted["work"].counts().failed) == (["a", "z"], 1)
    assert failure.message == "the data of 'deep' is nested deeper than 128 levels"


def test_the_error_names_the_item(planted: Client) -> None:
    words = "the data of 'deep' of the list 'work' is nested deeper than 128 levels"
    with pytest.raises(InvalidData, match=words):
        planted["work"].show("deep")
    with pytest.raises(InvalidData, match=words):
        planted["work"].page()


def test_the_item_can_be_saved_with_other_data(planted: Client) -> None:
    planted["work"].save("deep", data={"n": 1})
    assert [item.data for item in planted["work"].page()] == [[1], {"n": 1}, [1]]
