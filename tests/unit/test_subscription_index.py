"""A record finds the index entry of each subscription that it fulfils, and no other."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import random_predicates

from rowlock.errors import InvalidPredicate
from rowlock.topics import subscription_index
from rowlock.topics.maintenance import SubscriptionSample
from rowlock.topics.matching import ProbePlan, Probes
from rowlock.topics.predicates import canonical, checked, fits
from rowlock.topics.subscription_index import Conjunction, IndexEntry, Selectivity
from rowlock.topics.terms import (
    FieldLayout,
    Signature,
    TermKind,
    TermSpec,
    decode_signature,
    decode_spec,
    encode_signature,
    signature_of,
    to_int64,
)

MANY = {f"{kind}{number}": kind for number in range(16) for kind in ("text", "integer")}


def entries_of(layout: FieldLayout, asked: dict[str, Any], selectivity: Selectivity) -> list[IndexEntry]:
    return [
        each
        for row in subscription_index.conjunctions(layout, asked)
        for each in subscription_index.index_entries(layout, row, selectivity=selectivity)
    ]


def found(probes: Probes, each: IndexEntry) -> bool:
    """Whether a record with these probes finds an entry, by its key and columns alone."""
    ranges = {(key, 0, 0) for key in probes.keys} | set(probes.ranged)
    if not any(key == each.key and low <= each.sort <= high for key, low, high in ranges):
        return False
    return all(agrees(probes, column, value) for column, value in each.columns.items() if column != "checks")


def agrees(probes: Probes, column: str, value: int) -> bool:
    side, slot = column[0], int(column[1:])
    if side == "c":
        return probes.equality_values[slot] == value
    number = probes.range_values[slot]
    return number is not None and (value <= number if side == "l" else number <= value)


@given(
    asked=st.lists(random_predicates.predicates(), max_size=8),
    record=random_predicates.records(),
    heavy=st.sets(st.integers(0, 200)),
    shapes=st.integers(0, subscription_index.MAX_SIGNATURES),
)
def test_a_record_finds_what_it_fulfils_once_and_nothing_else(
    asked: list[dict[str, Any]], record: dict[str, Any], heavy: set[int], shapes: int
) -> None:
    layout = FieldLayout(1, random_predicates.FIELDS)
    every = [
        row
        for each in asked
        if (wanted := readable(each)) is not None
        for row in subscription_index.conjunctions(layout, wanted)
    ]
    selectivity = every_signature_allowed(layout, every)
    selectivity.signatures |= set(unused(shapes))
    stored = [
        (wanted, entries_with_heavy_terms(layout, wanted, selectivity, heavy))
        for each in asked
        if (wanted := readable(each)) is not None
    ]
    plan = ProbePlan(layout, {each.signature for _, entries in stored for each in entries})
    value = checked(random_predicates.FIELDS, record)
    probes = plan.probes(value)
    for wanted, entries in stored:
        hits = [each for each in entries if found(probes, each)]
        assert len(hits) <= 1
        needs_recheck = any(each.columns["checks"] & 1 for each in hits)
        assert fits(wanted, value) == (bool(hits) and (not needs_recheck or fits(wanted, value)))


def every_signature_allowed(layout: FieldLayout, rows: list[Conjunction]) -> Selectivity:
    """Selectivity by which a key may be made of any terms of these rows, beside any range of theirs."""
    pairs = {chosen for row in rows for size in (1, 2) for chosen in combinations(sorted(row.terms), size)}
    ranges = {subscription_index.range_terms(layout, row.ranges)[0].spec for row in rows if row.ranges}
    allowed = {signature_of([*chosen, *more]) for chosen in pairs for more in [(), *((spec,) for spec in ranges)]}
    return Selectivity(total=100_000, worthwhile=allowed)


def unused(count: int) -> list[Signature]:
    """Signatures that no subscription has."""
    return [(TermSpec(1_000 + number, TermKind.EQUALS),) for number in range(count)]


def readable(asked: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return canonical(random_predicates.FIELDS, asked)
    except InvalidPredicate:
        return None


def entries_with_heavy_terms(
    layout: FieldLayout, wanted: dict[str, Any], selectivity: Selectivity, heavy: set[int]
) -> list[IndexEntry]:
    terms = [term for row in subscription_index.conjunctions(layout, wanted) for term in row.terms.values()]
    selectivity.rows_per_term |= {term: 50_000 if term % 200 in heavy else 0 for term in terms}
    return entries_of(layout, wanted, selectivity)


@given(data=st.data())
def test_fields_beyond_the_columns_are_rechecked(data: st.DataObject) -> None:
    layout = FieldLayout(1, MANY)
    wanted = canonical(MANY, {name: random_predicates.VALUES[kind][1] for name, kind in MANY.items()})
    [each] = entries_of(layout, wanted, Selectivity())
    assert each.columns["checks"] & 1
    record = {name: data.draw(st.sampled_from(random_predicates.VALUES[kind][:2])) for name, kind in MANY.items()}
    probes = ProbePlan(layout, [each.signature]).probes(record)
    assert found(probes, each) or not fits(wanted, record)


def test_an_entry_is_stored_under_its_rarest_term() -> None:
    layout = FieldLayout(1, random_predicates.FIELDS)
    wanted = canonical(random_predicates.FIELDS, {"artist": "a", "title": "b"})
    common, rare = layout.equality_term("artist", "a"), layout.equality_term("title", "b")
    [each] = entries_of(layout, wanted, Selectivity({common: 50, rare: 3}, 100_000))
    assert (encode_signature(each.signature), each.key) == ("5e", rare)


def test_a_key_has_two_terms_where_that_is_worth_a_look_up() -> None:
    layout = FieldLayout(1, random_predicates.FIELDS)
    wanted = canonical(random_predicates.FIELDS, {"artist": "a", "title": "b"})
    terms = [layout.equality_term("artist", "a"), layout.equality_term("title", "b")]
    frequent = dict.fromkeys(terms, 10_000)
    [alone] = entries_of(layout, wanted, Selectivity(frequent, 100_000))
    assert encode_signature(alone.signature) == "0e"
    [each] = entries_of(layout, wanted, Selectivity(frequent, 100_000, worthwhile={decode_signature("0e+5e")}))
    assert (encode_signature(each.signature), each.key) == ("0e+5e", to_int64(sum(terms)))


def test_a_range_narrows_a_crowded_key() -> None:
    layout = FieldLayout(1, random_predicates.FIELDS)
    wanted = canonical(random_predicates.FIELDS, {"artist": "a", "year": {"from": 2000, "to": 2005}})
    selectivity = Selectivity(
        {layout.equality_term("artist", "a"): 90_000}, 100_000, worthwhile={decode_signature("0e+1c2")}
    )
    assert {encode_signature(each.signature) for each in entries_of(layout, wanted, selectivity)} == {"0e+1c2"}


def test_the_number_of_signatures_is_limited() -> None:
    layout = FieldLayout(1, random_predicates.FIELDS)
    wanted = canonical(random_predicates.FIELDS, {"artist": "a", "title": "b"})
    terms = [layout.equality_term("artist", "a"), layout.equality_term("title", "b")]
    full = set(unused(subscription_index.MAX_SIGNATURES))
    selectivity = Selectivity(dict.fromkeys(terms, 10_000), 100_000, full, worthwhile={decode_signature("0e+5e")})
    [each] = entries_of(layout, wanted, selectivity)
    assert encode_signature(each.signature) == "0e"


def test_a_prefix_becomes_a_key_rather_than_a_recheck() -> None:
    layout = FieldLayout(1, random_predicates.FIELDS)
    wanted = canonical(random_predicates.FIELDS, {"artist": "a", "title": {"prefix": "b"}})
    [row] = subscription_index.conjunctions(layout, wanted)
    [each] = entries_of(
        layout, wanted, Selectivity({row.terms[decode_spec("0e")]: 100, row.terms[decode_spec("5p1")]: 300}, 100_000)
    )
    assert (encode_signature(each.signature), each.columns["checks"] & 1) == ("5p1", 0)


def test_only_pairs_that_save_many_rows_are_worth_a_look_up() -> None:
    layout = FieldLayout(1, random_predicates.FIELDS)
    common = {"artist": "a", "mint": True}
    wanted = [common if number % 2 else {"artist": str(number), "title": str(number)} for number in range(1000)]
    rows = [
        row
        for asked in wanted
        for row in subscription_index.conjunctions(layout, canonical(random_predicates.FIELDS, asked))
    ]
    statistics = SubscriptionSample(rows, scale=10).statistics(layout, total=10_000, upto=1000)
    assert (statistics.worth, statistics.parts) == ([], {"0e": 10_000, "2e": 5_000, "5e": 5_000})
    varied = [{**asked, "mint": number % 3 == 0} if "mint" in asked else asked for number, asked in enumerate(wanted)]
    rows = [
        row
        for asked in varied
        for row in subscription_index.conjunctions(layout, canonical(random_predicates.FIELDS, asked))
    ]
    assert SubscriptionSample(rows, scale=10).statistics(layout, total=10_000, upto=1000).worth == ["0e+2e"]


@pytest.mark.parametrize("values", [1_000, 33])
def test_a_wide_choice_alone_has_an_entry_for_each_value(values: int) -> None:
    layout = FieldLayout(1, random_predicates.FIELDS)
    wanted = canonical(random_predicates.FIELDS, {"artist": [str(number) for number in range(values)]})
    entries = entries_of(layout, wanted, Selectivity())
    assert (len({each.key for each in entries}), {each.columns["checks"] for each in entries}) == (values, {0})


def test_a_wide_choice_beside_a_rarer_term_is_rechecked() -> None:
    layout = FieldLayout(1, random_predicates.FIELDS)
    wanted = canonical(random_predicates.FIELDS, {"artist": [str(number) for number in range(33)], "title": "b"})
    [each] = entries_of(layout, wanted, Selectivity())
    assert (encode_signature(each.signature), each.columns) == ("5e", {"checks": 1})


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2))
def test_numbers_keep_their_order(numbers: list[float]) -> None:
    layout = FieldLayout(1, {"price": "number"})
    codes = [layout.ordinal("price", number + 0.0) for number in numbers]
    assert sorted(numbers) == [number for _, number in sorted(zip(codes, numbers, strict=True))]
    assert all(-(2**63) <= code < 2**63 for code in codes)


@pytest.mark.parametrize("end", [-(2**63), -1, 0, 1, 2**63 - 2, 2**63 - 1])
@pytest.mark.parametrize("side", ["from", "to"])
def test_a_range_with_one_bound_matches_at_that_bound(side: str, end: int) -> None:
    layout = FieldLayout(1, random_predicates.FIELDS)
    wanted = canonical(random_predicates.FIELDS, {"year": {side: end}})
    [each] = entries_of(layout, wanted, Selectivity())
    plan = ProbePlan(layout, [each.signature])
    years = [year for year in (end - 1, end, end + 1) if -(2**63) <= year < 2**63]
    assert each.sort != 0
    assert [found(plan.probes({"year": year}), each) for year in years] == [
        fits(wanted, {"year": year}) for year in years
    ]
