"""Data that was stored with more levels than are allowed: its item fails, and nothing else does."""

import pytest
from tests.worker.running import sound, work_off

from rowlock import Engine, Item, Worker
from rowlock.errors import InvalidData


@pytest.fixture(params=[129, 970, 5_000])
def planted(engine: Engine, request: pytest.FixtureRequest) -> Engine:
    """An engine whose list `work` has three items, one of them with data that no add would take."""
    engine["work"].add(["a", "deep", "z"], data=[1])
    data = "[" * request.param + "]" * request.param
    with engine.transaction() as tx:
        tx.execute(f"update rowlock_items set data = '{data}' where key = 'deep'")
    return engine


def failed(engine: Engine) -> tuple[list[str], str]:
    """The keys of what is left, and why it failed."""
    return [item.key for item in engine["work"].items(state="failed")], engine["work"].failures("deep")[0].message


@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_item_that_cannot_be_decoded_fails_and_its_neighbours_go_on(planted: Engine, concurrency: int) -> None:
    seen: list[str] = []
    worker = Worker(planted, concurrency=concurrency)
    worker.on("work", lambda item: seen.append(item.key))
    work_off(worker)
    assert (sorted(seen), planted["work"].progress().done) == (["a", "z"], 2)
    assert failed(planted) == (["deep"], "the data of 'deep' is nested deeper than 128 levels")
    assert sound(planted)


def test_a_batch_goes_on_without_an_item_that_cannot_be_decoded(planted: Engine) -> None:
    seen: list[list[str]] = []
    worker = Worker(planted)

    @worker.on("work", batch=10)
    def handle(items: list[Item]) -> None:
        seen.append([item.key for item in items])

    work_off(worker)
    assert (seen, failed(planted)[0]) == ([["a", "z"]], ["deep"])


def test_an_exclusive_list_goes_on_without_an_item_that_cannot_be_decoded(planted: Engine) -> None:
    planted["work"].settings(exclusive=True)
    seen: list[str] = []
    worker = Worker(planted)
    worker.on("work", lambda item: seen.append(item.key))
    work_off(worker)
    assert (seen, failed(planted)[0]) == (["a", "z"], ["deep"])


def test_data_that_cannot_be_decoded_are_an_error_of_ours(planted: Engine) -> None:
    item = planted["work"].show("deep")
    with pytest.raises(InvalidData, match=r"the data of 'deep' is nested \d+ levels deep; at most 128 are allowed"):
        _ = item.data
