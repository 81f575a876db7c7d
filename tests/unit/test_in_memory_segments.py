"""Memory finds what plain reading finds, whatever the number of ranges, and also after segments were merged."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import random_predicates

from rowlock.errors import InvalidPredicate
from rowlock.topics import subscription_index
from rowlock.topics.in_memory_matcher import ColumnCounts, ProbeArrays, Segment, Tombstones, merge
from rowlock.topics.matching import ProbePlan
from rowlock.topics.predicates import canonical, checked, fits
from rowlock.topics.subscription_index import IndexEntry, Selectivity
from rowlock.topics.terms import EQUALITY_COLUMNS, HIGHEST, LOWEST, RANGE_COLUMNS, FieldLayout

FIELDS = {
    "flat": {"artist": "text", "mint": "boolean"},
    "mixed": random_predicates.FIELDS,
    "ranged": {"artist": "text", **{f"n{slot}": "integer" for slot in range(6)}},
}


def numbers(subscription: int, each: IndexEntry) -> list[int]:
    """An entry as the statement that reads it gives it."""
    columns = each.columns
    lows = [columns.get(f"l{slot}", LOWEST) for slot in range(RANGE_COLUMNS)]
    highs = [columns.get(f"h{slot}", HIGHEST) for slot in range(RANGE_COLUMNS)]
    needs = sum(1 << slot for slot in range(RANGE_COLUMNS) if {f"l{slot}", f"h{slot}"} & columns.keys())
    codes = [columns.get(f"c{slot}", 0) for slot in range(EQUALITY_COLUMNS)]
    return [subscription, 1, HIGHEST, each.key, each.sort, columns["checks"] & 1, needs, *codes, *lows, *highs]


def found(
    segment: Segment, probes: ProbeArrays, wanted: dict[int, dict[str, Any]], record: dict[str, Any]
) -> list[int]:
    sure, doubtful = segment.find(probes, seq=1, removed=Tombstones({}))
    return sorted([*sure.tolist(), *(number for number in doubtful.tolist() if fits(wanted[number], record))])


@pytest.mark.parametrize("kind", FIELDS)
@settings(max_examples=25)
@given(data=st.data())
def test_memory_finds_what_a_record_fulfils_and_nothing_else(data: st.DataObject, kind: str) -> None:
    fields = FIELDS[kind]
    layout = FieldLayout(1, fields)
    wanted: dict[int, dict[str, Any]] = {}
    for number, asked in enumerate(data.draw(st.lists(random_predicates.predicates(fields), max_size=8)), 1):
        try:
            wanted[number] = canonical(fields, asked)
        except InvalidPredicate:
            continue
    filed = [
        (number, each)
        for number, asked in wanted.items()
        for row in subscription_index.conjunctions(layout, asked)
        for each in subscription_index.index_entries(layout, row, selectivity=Selectivity())
    ]
    record = checked(fields, data.draw(random_predicates.records(fields)))
    counts = ColumnCounts(len(layout.equality_columns), len(layout.range_columns))
    probes = ProbeArrays(counts, ProbePlan(layout, {each.signature for _, each in filed}).probes(record))
    rows = [numbers(number, each) for number, each in filed]
    halves = [Segment(counts, [counts.array(part)]) for part in (rows[::2], rows[1::2])]
    whole = merge(counts, halves, removed=Tombstones({}), upto=0)
    fulfilled = [number for number, asked in wanted.items() if fits(asked, record)]
    assert found(whole, probes, wanted, record) == fulfilled
    assert sorted(found(halves[0], probes, wanted, record) + found(halves[1], probes, wanted, record)) == fulfilled
