"""Memory finds what plain reading finds, whatever the number of ranges, and also after segments were merged."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import wishes

from rowlock.errors import InvalidPredicate
from rowlock.topics import subscription_index
from rowlock.topics.in_memory_index import ColumnCounts, ProbeArrays, Segment, Tombstones, merged
from rowlock.topics.predicates import canonical, checked, fits
from rowlock.topics.subscription_index import (
    CODES,
    HIGHEST,
    LOWEST,
    RANGES,
    ColumnLayout,
    IndexEntry,
    ProbePlan,
    Selectivity,
)

FIELDS = {
    "flat": {"artist": "text", "mint": "boolean"},
    "mixed": wishes.FIELDS,
    "ranged": {"artist": "text", **{f"n{slot}": "integer" for slot in range(6)}},
}


def numbers(subscription: int, each: IndexEntry) -> list[int]:
    """An entry as the statement that reads it gives it."""
    columns = each.columns
    lows = [columns.get(f"l{slot}", LOWEST) for slot in range(RANGES)]
    highs = [columns.get(f"h{slot}", HIGHEST) for slot in range(RANGES)]
    needs = sum(1 << slot for slot in range(RANGES) if {f"l{slot}", f"h{slot}"} & columns.keys())
    codes = [columns.get(f"c{slot}", 0) for slot in range(CODES)]
    return [subscription, 1, HIGHEST, each.key, each.sort, columns["checks"] & 1, needs, *codes, *lows, *highs]


def found(
    segment: Segment, question: ProbeArrays, wanted: dict[int, dict[str, Any]], record: dict[str, Any]
) -> list[int]:
    sure, doubtful = segment.find(question, seq=1, ended=Tombstones({}))
    return sorted([*sure.tolist(), *(number for number in doubtful.tolist() if fits(wanted[number], record))])


@pytest.mark.parametrize("kind", FIELDS)
@settings(max_examples=25)
@given(data=st.data())
def test_memory_finds_what_a_record_fulfils_and_nothing_else(data: st.DataObject, kind: str) -> None:
    fields = FIELDS[kind]
    layout = ColumnLayout(1, fields)
    wanted: dict[int, dict[str, Any]] = {}
    for number, asked in enumerate(data.draw(st.lists(wishes.predicates(fields), max_size=8)), 1):
        try:
            wanted[number] = canonical(fields, asked)
        except InvalidPredicate:
            continue
    filed = [
        (number, each)
        for number, asked in wanted.items()
        for row in subscription_index.rows(layout, asked)
        for each in subscription_index.file(layout, row, weights=Selectivity())
    ]
    record = checked(fields, data.draw(wishes.records(fields)))
    shape = ColumnCounts(len(layout.codes), len(layout.ranges))
    question = ProbeArrays(shape, ProbePlan(layout, {each.shape for _, each in filed}).probes(record))
    rows = [numbers(number, each) for number, each in filed]
    halves = [Segment(shape, [shape.array(part)]) for part in (rows[::2], rows[1::2])]
    whole = merged(shape, halves, without=Tombstones({}), upto=0)
    fulfilled = [number for number, asked in wanted.items() if fits(asked, record)]
    assert found(whole, question, wanted, record) == fulfilled
    assert sorted(found(halves[0], question, wanted, record) + found(halves[1], question, wanted, record)) == fulfilled
