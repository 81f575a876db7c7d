"""Items on a list: add, page, show, increment, done, abandon, retry."""

import threading
from collections.abc import Callable

import pytest
from tests.verbs.claiming import CORE

from rowlock import Added, Engine, List, State
from rowlock.errors import AlreadyThere, Invalid, NoSuchItem, NoSuchList

pytestmark = pytest.mark.parametrize("dialect", CORE)

NAMES = [f"{letter}.txt" for letter in "bcdefghi"]


def keys(engine: Engine, name: str = "downloads", **options: object) -> list[str]:
    return [item.key for item in engine[name].page(**options)]


def attempts(engine: Engine, name: str = "downloads") -> dict[str, int]:
    return {item.key: item.attempts for item in engine[name]}


def test_an_added_item_is_ready_and_has_never_failed(engine: Engine) -> None:
    engine["downloads"].add("a.txt")
    item = engine["downloads"].show("a.txt")
    assert (item.list, item.key, item.state, item.attempts, item.priority, item.gate, item.data) == (
        "downloads",
        "a.txt",
        State.READY,
        0,
        5,
        0,
        None,
    )


def test_an_add_says_how_many_are_new(engine: Engine) -> None:
    engine["downloads"].add("a")
    assert engine["downloads"].add(["a", "b", "c"]) == Added(2, 1)


def test_the_same_key_twice_in_one_add_is_one_item(engine: Engine) -> None:
    assert engine["downloads"].add(["a", "b", "a"]) == Added(2, 1)


def test_of_a_key_given_twice_the_first_is_added(engine: Engine) -> None:
    engine["downloads"].add({"key": "a", "data": number, "priority": number} for number in range(9))
    engine["downloads"].add(["b", *"cdefgh", *["b"] * 9])
    assert engine["downloads"].show("a").data == 0
    assert min(engine["downloads"].page(after="a"), key=lambda item: item.position).key == "b"


def test_adding_again_changes_nothing_of_the_item(engine: Engine) -> None:
    engine["downloads"].add("a", data={"size": 3}, priority=2)
    engine["downloads"].increment("a")
    before = engine["downloads"].show("a")
    engine["downloads"].add("a", data={"size": 4}, priority=7)
    assert engine["downloads"].show("a") == before


def test_the_same_key_may_be_on_two_lists(engine: Engine) -> None:
    engine["one"].add("a")
    assert engine["two"].add("a") == Added(1, 0)


def test_adding_nothing_adds_nothing(engine: Engine) -> None:
    assert engine["downloads"].add([]) == Added(0, 0)


def test_positions_follow_the_order_given(engine: Engine) -> None:
    engine["downloads"].add(["c", "a", "b"])
    assert [item.key for item in sorted(engine["downloads"], key=lambda item: item.position)] == ["c", "a", "b"]


def test_positions_of_mappings_follow_the_order_given(engine: Engine) -> None:
    engine["downloads"].add([{"key": "c", "priority": 1}, {"key": "a"}, "b"])
    assert [item.key for item in sorted(engine["downloads"], key=lambda item: item.position)] == ["c", "a", "b"]


def test_a_strict_add_refuses_what_is_there_and_adds_nothing(engine: Engine) -> None:
    engine["downloads"].add("b")
    with pytest.raises(AlreadyThere, match="'b'") as refusal:
        engine["downloads"].add(["a", "b", "c"], strict=True)
    assert (refusal.value.fields["key"], keys(engine)) == ("b", ["b"])


def test_a_strict_add_refuses_a_key_that_comes_twice(engine: Engine) -> None:
    with pytest.raises(AlreadyThere, match="'a' was given twice"):
        engine["downloads"].add(["a", "b", "a"], strict=True)
    assert engine.lists() == []


def test_a_strict_add_finds_a_key_that_comes_twice_far_apart(engine: Engine) -> None:
    with pytest.raises(AlreadyThere, match="key-7'"):
        engine["downloads"].add([*(f"key-{number}" for number in range(25_000)), "key-7"], strict=True)
    assert engine.lists() == []


def test_a_strict_add_of_new_keys_adds_them(engine: Engine) -> None:
    assert engine["downloads"].add(["a", "b"], strict=True) == Added(2, 0)


def test_pages_follow_one_another_by_key(engine: Engine) -> None:
    engine["downloads"].add(NAMES)
    assert [
        keys(engine, limit=2),
        keys(engine, limit=2, after="c.txt"),
        keys(engine, limit=4, after="e.txt"),
    ] == [NAMES[:2], NAMES[2:4], NAMES[4:]]


def test_a_page_starts_after_a_key_that_is_not_there(engine: Engine) -> None:
    engine["downloads"].add(["a", "b", "c"])
    assert keys(engine, after="bb") == ["c"]


def test_a_page_past_the_end_is_empty(engine: Engine) -> None:
    engine["downloads"].add(["a", "b"])
    assert keys(engine, after="b") == []


@pytest.mark.parametrize(
    "read",
    [
        List.page,
        List.counts,
        List.gates,
        List.remembered,
        List.newest_results,
        List.failure_groups,
        lambda names: names.page(limit=0),
        lambda names: names.page(state="failed"),
        lambda names: list(names),
        lambda names: names.ranges(2),
        lambda names: names.failures("a"),
        lambda names: names.results("a"),
        lambda names: names.keys_matching_error("a"),
    ],
)
def test_a_list_that_does_not_exist_cannot_be_read(engine: Engine, read: Callable[[List], object]) -> None:
    engine["somewhere"].add("a")
    with pytest.raises(NoSuchList, match="no list 'nowhere'"):
        read(engine["nowhere"])


def test_a_page_of_none_is_empty(engine: Engine) -> None:
    engine["downloads"].add("a")
    assert keys(engine, limit=0) == []


@pytest.mark.parametrize("limit", [-1, 100_001])
def test_a_page_that_cannot_be_had_is_refused(engine: Engine, limit: int) -> None:
    with pytest.raises(Invalid, match=str(limit)):
        engine["downloads"].page(limit=limit)


def test_a_page_of_an_unknown_state_is_refused(engine: Engine) -> None:
    with pytest.raises(Invalid, match="'lost'"):
        engine["downloads"].page(state="lost")


def test_all_items_are_read_page_by_page(engine: Engine) -> None:
    engine["downloads"].add(NAMES)
    assert [item.key for item in engine["downloads"].items(page=3)] == NAMES


def test_an_item_that_is_not_there_cannot_be_shown(engine: Engine) -> None:
    engine["downloads"].add("a")
    with pytest.raises(NoSuchItem, match=r"'a\.txt'"):
        engine["downloads"].show("a.txt")


def test_an_item_of_no_list_cannot_be_shown(engine: Engine) -> None:
    with pytest.raises(NoSuchList, match="'downloads'"):
        engine["downloads"].show("a.txt")


def test_a_misspelt_list_is_told_the_right_one(engine: Engine) -> None:
    engine["downloads"].add("a")
    with pytest.raises(NoSuchList, match="did you mean 'downloads'"):
        engine["dowloads"].show("a")


def test_an_increment_notes_a_failed_attempt(engine: Engine) -> None:
    engine["downloads"].add("a")
    engine["downloads"].increment("a")
    engine["downloads"].increment("a")
    assert engine["downloads"].show("a").attempts == 2


def test_an_increment_counts_only_what_is_there(engine: Engine) -> None:
    engine["downloads"].add(NAMES)
    assert engine["downloads"].increment([*NAMES[:4], "z.txt"]) == 4
    assert list(attempts(engine).values()) == [1, 1, 1, 1, 0, 0, 0, 0]


def test_a_key_twice_in_one_increment_counts_once(engine: Engine) -> None:
    engine["downloads"].add("a")
    assert (engine["downloads"].increment(["a", "a"]), attempts(engine)) == (1, {"a": 1})


def test_an_increment_of_nothing_that_is_there_makes_nothing(engine: Engine) -> None:
    engine["downloads"].add("a")
    assert (engine["downloads"].increment("b"), engine["nowhere"].increment("b")) == (0, 0)
    assert [info.name for info in engine.lists()] == ["downloads"]


def test_an_increment_keeps_what_was_said(engine: Engine) -> None:
    engine["downloads"].add("a")
    engine["downloads"].increment("a", error="404 Not Found")
    engine["downloads"].increment("a", error="503 Later")
    assert [(each.attempt, each.message) for each in engine["downloads"].failures("a")] == [
        (2, "503 Later"),
        (1, "404 Not Found"),
    ]


def test_what_was_said_of_a_failure_may_be_any_text(engine: Engine) -> None:
    engine["downloads"].add("a")
    engine["downloads"].increment("a", error="no such file: 'caf\udce9\0'")
    assert "no such file: 'caf" in engine["downloads"].failures("a")[0].message


def test_what_was_said_of_a_failure_is_cut_to_a_bearable_length(engine: Engine) -> None:
    engine["downloads"].add("a")
    engine["downloads"].increment("a", error="🦊" * 100_000)
    assert len(engine["downloads"].failures("a")[0].message) == 4_000


def test_attempts_never_pass_what_can_be_stored(engine: Engine) -> None:
    engine["downloads"].add("a")
    with engine.transaction() as tx:
        tx.execute("update rowlock_items set attempts = 2147483646")
    counted = engine["downloads"].increment("a"), engine["downloads"].increment("a")
    assert (counted, attempts(engine)) == ((1, 0), {"a": 2_147_483_647})


def test_a_done_item_is_gone(engine: Engine) -> None:
    engine["downloads"].add(["a", "b"])
    assert (engine["downloads"].done("a"), engine["downloads"].done("a"), keys(engine)) == (1, 0, ["b"])


def test_many_done_items_are_gone_and_the_rest_keeps_its_attempts(engine: Engine) -> None:
    engine["downloads"].add(NAMES)
    engine["downloads"].increment(NAMES[:4])
    assert engine["downloads"].done(NAMES[2:6]) == 4
    assert attempts(engine) == {"b.txt": 1, "c.txt": 1, "h.txt": 0, "i.txt": 0}


def test_a_done_item_may_be_added_again_as_new(engine: Engine) -> None:
    engine["downloads"].add("a")
    engine["downloads"].increment("a")
    first = engine["downloads"].show("a").position
    engine["downloads"].done("a")
    engine["downloads"].add("a")
    again = engine["downloads"].show("a")
    assert (again.attempts, again.position > first) == (0, True)


def test_done_takes_an_iterable_that_can_be_read_once(engine: Engine) -> None:
    engine["downloads"].add(NAMES)
    assert engine["downloads"].done(name for name in NAMES) == 8


def test_done_of_nothing_does_nothing(engine: Engine) -> None:
    engine["downloads"].add("a")
    assert (engine["downloads"].done([]), engine["nowhere"].done("a"), keys(engine)) == (0, 0, ["a"])


def test_an_abandoned_item_is_gone_and_told_from_a_done_one(engine: Engine) -> None:
    engine["downloads"].add(["a", "b", "c"])
    assert engine["downloads"].abandon(["a", "z"]) == 1
    engine["downloads"].done("b")
    progress = engine["downloads"].progress()
    assert (keys(engine), progress.abandoned, progress.done) == (["c"], 1, 1)


def test_a_retry_leaves_ready_items_alone(engine: Engine) -> None:
    engine["downloads"].add("a")
    engine["downloads"].increment("a")
    assert (engine["downloads"].retry("a"), attempts(engine)) == (0, {"a": 1})


def test_a_retry_makes_delayed_items_ready_at_the_end_of_the_line(engine: Engine) -> None:
    engine["downloads"].add(["x", "y"], due="1h")
    engine["downloads"].add("z")
    assert engine["downloads"].retry(["y", "x", "z"]) == 2
    in_line = sorted(engine["downloads"], key=lambda item: item.position)
    assert [(item.key, item.state) for item in in_line] == [("z", "ready"), ("x", "ready"), ("y", "ready")]


def test_a_thousand_retried_items_stand_in_the_order_of_their_keys(engine: Engine) -> None:
    names = [f"{number:04}" for number in range(1000)]
    engine["downloads"].add(reversed(names), due="1h")
    engine["downloads"].retry(names)
    assert [item.key for item in sorted(engine["downloads"], key=lambda item: item.position)] == names


def test_a_retry_makes_failed_items_ready_with_a_clean_count(engine: Engine) -> None:
    engine["downloads"].add(["a", "b"])
    engine["downloads"].increment(["a", "b"])
    with engine.transaction() as tx:
        tx.execute("update rowlock_items set failed_at = 1 where key = 'a'")
    assert [item.key for item in engine["downloads"].page(state="failed")] == ["a"]
    assert (engine["downloads"].retry(["a", "b"]), attempts(engine)) == (1, {"a": 0, "b": 1})


def test_a_position_is_never_given_twice(engine: Engine) -> None:
    engine["downloads"].add("a", due="1h")
    engine["downloads"].retry("a")
    last = engine["downloads"].show("a").position
    engine["downloads"].done("a")
    engine["downloads"].add("b")
    assert engine["downloads"].show("b").position > last


def test_two_threads_that_increment_lose_nothing(engine: Engine) -> None:
    engine["downloads"].add("a.txt")

    def work() -> None:
        for _ in range(500):
            engine["downloads"].increment("a.txt")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert attempts(engine) == {"a.txt": 1000}


def test_a_list_that_keeps_results_keeps_a_row_of_each_done_item(engine: Engine) -> None:
    engine["downloads"].settings(keep_results=True)
    engine["downloads"].add(["a", "b"])
    engine["downloads"].increment("a")
    engine["downloads"].done(["a", "b"])
    with engine.transaction() as tx:
        rows = tx.execute("select key, attempts from rowlock_results order by key").fetchall()
    assert rows == [("a", 1), ("b", 0)]


def test_priorities_are_kept(engine: Engine) -> None:
    engine["downloads"].add([{"key": "a", "priority": 0}, {"key": "b", "priority": 9}, "c"], priority=3)
    assert [item.priority for item in engine["downloads"]] == [0, 9, 3]


@pytest.mark.parametrize("wrong", [-1, 10, 2.0, "3", True])
def test_a_priority_that_cannot_be_had_is_refused(engine: Engine, wrong: object) -> None:
    with pytest.raises(Invalid, match="priority"):
        engine["downloads"].add("a", priority=wrong)
    assert engine.lists() == []


def test_a_list_contains_the_keys_of_its_items(engine: Engine) -> None:
    engine["work"].add("a")
    assert ("a" in engine["work"], "b" in engine["work"], "a" in engine["other"], 7 in engine["work"]) == (
        True,
        False,
        False,
        False,
    )


def test_a_report_counts_the_items_that_were_written(engine: Engine) -> None:
    written: list[int] = []
    engine["fruit"].add((f"{number:05}" for number in range(12_000)), report=written.append)
    assert written == [10_000, 12_000]
