"""Entries: what people add, read in batches and checked before anything is written."""

import io
from collections.abc import Iterator
from itertools import chain

import pytest

from rowlock import NewItem
from rowlock.errors import Invalid, InvalidKey
from rowlock.item_input import MAX_ROWS_PER_STATEMENT, ItemDefaults, batches, check_all, lines

PLAIN = ItemDefaults()


def test_keys_that_share_the_rest_make_one_batch_of_keys() -> None:
    (batch,) = batches(["a", "b"], ItemDefaults(priority=3))
    columns = {"gate": None, "priority": 3, "delay": 0, "data": None, "trace": None}
    assert (batch.entries, batch.same) == (["a", "b"], columns)


def test_mappings_make_a_batch_of_rows() -> None:
    (batch,) = batches(["a", {"key": "b", "gate": 2}, NewItem("c", gate=1)], PLAIN)
    assert (batch.keys(), batch.same, batch.lowest_gate) == (["a", "b", "c"], None, 1)


def test_a_new_item_has_its_own_values_and_not_the_shared_ones() -> None:
    (batch,) = batches([NewItem("a")], ItemDefaults(priority=1, gate=4, data="shared"))
    (row,) = batch.rows()
    assert (row["priority"], row["gate"], row["data"]) == (5, None, None)


def test_many_keys_make_batches_of_a_bounded_size() -> None:
    counts = [len(batch.entries) for batch in batches(map(str, range(MAX_ROWS_PER_STATEMENT * 2 + 1)), PLAIN)]
    assert counts == [MAX_ROWS_PER_STATEMENT, MAX_ROWS_PER_STATEMENT, 1]


def test_batches_are_read_only_as_far_as_they_are_asked_for() -> None:
    source = iter(map(str, range(MAX_ROWS_PER_STATEMENT * 3)))
    next(iter(batches(source, PLAIN)))
    assert next(source) == str(MAX_ROWS_PER_STATEMENT)


def test_what_was_read_through_can_be_read_again() -> None:
    ready = check_all(batches(map(str, range(MAX_ROWS_PER_STATEMENT * 3)), PLAIN))
    assert list(ready) == list(ready)


def test_what_was_read_through_is_what_there_was() -> None:
    ready = check_all(batches((f"{number}é" for number in range(MAX_ROWS_PER_STATEMENT * 3)), PLAIN))
    keys = list(chain.from_iterable(batch.keys() for batch in ready))
    assert keys == [f"{number}é" for number in range(MAX_ROWS_PER_STATEMENT * 3)]


def test_lines_lose_their_ends_and_blank_ones_keep_their_place() -> None:
    assert list(lines(io.StringIO("a\n\n b \nc\r\n   \nd"))) == ["a", "", " b ", "c", "", "d"]


def test_lines_may_be_bytes() -> None:
    assert list(lines(io.BytesIO("é\r\n🦊".encode()))) == ["é", "🦊"]


def test_lines_may_come_from_anything_that_reads_lines() -> None:
    class Source:
        def readline(self) -> str:
            raise AssertionError("read by iteration")

        def __iter__(self) -> Iterator[str]:
            return iter(["a\n", "b\n"])

    (batch,) = batches(Source(), PLAIN)
    assert batch.keys() == ["a", "b"]


@pytest.mark.parametrize("wrong", [{"data": 1}, {"key": "a", "when": 1}, {"key": 7}, {"key": None}, {7: 7}])
def test_a_mapping_that_is_no_item_is_refused(wrong: dict[object, object]) -> None:
    with pytest.raises(Invalid):
        list(batches(wrong, PLAIN))


def test_the_line_of_a_wrong_entry_counts_through_all_batches() -> None:
    source = [*map(str, range(MAX_ROWS_PER_STATEMENT)), "good", "bad\0"]
    with pytest.raises(InvalidKey) as refusal:
        list(batches(source, PLAIN))
    assert refusal.value.fields["line"] == MAX_ROWS_PER_STATEMENT + 2


def test_the_line_of_wrong_text_in_a_long_file_is_known() -> None:
    source = io.BytesIO(b"good\n" * MAX_ROWS_PER_STATEMENT + b"\xff\n")
    with pytest.raises(InvalidKey, match=f"line {MAX_ROWS_PER_STATEMENT + 1} "):
        list(batches(source, PLAIN))
