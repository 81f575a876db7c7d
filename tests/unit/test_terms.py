"""Terms, specs and signatures are stored: databases of earlier versions must keep their meaning."""

from typing import Any

import pytest

from rowlock.topics import subscription_index
from rowlock.topics.subscription_index import Selectivity
from rowlock.topics.terms import (
    FieldLayout,
    TermKind,
    TermSpec,
    decode_signature,
    decode_spec,
    encode_signature,
    encode_spec,
    signature_of,
)

FIELDS = {"artist": "text", "year": "integer", "price": "number", "seen": "date"}

SPECS = {
    "3e": TermSpec(3, TermKind.EQUALS),
    "12p8": TermSpec(12, TermKind.PREFIX, 8),
    "0c0": TermSpec(0, TermKind.CELL, 0),
    "3c12": TermSpec(3, TermKind.CELL, 12),
    "3g": TermSpec(3, TermKind.AT_LEAST),
    "3l": TermSpec(3, TermKind.AT_MOST),
}


@pytest.mark.parametrize("text", SPECS)
def test_a_spec_is_stored_as_text(text: str) -> None:
    assert (encode_spec(SPECS[text]), decode_spec(text)) == (text, SPECS[text])


@pytest.mark.parametrize("text", ["", "3", "e", "3x", "3e+4e", "-1e"])
def test_an_invalid_text_is_refused_as_a_spec(text: str) -> None:
    with pytest.raises(ValueError, match="invalid term spec"):
        decode_spec(text)


@pytest.mark.parametrize("text", ["", "3e", "0e+1c2", "10e+2e"])
def test_a_signature_is_stored_in_the_order_of_texts(text: str) -> None:
    assert encode_signature(decode_signature(text)) == text


def test_the_order_of_its_specs_does_not_change_a_signature() -> None:
    specs = [decode_spec("10e"), decode_spec("2e")]
    assert signature_of(specs) == signature_of(reversed(specs)) == decode_signature("10e+2e")


# Computed by the first version that stored them.
STORED = [
    ({}, ("", -9094372851886187687, 0, {"checks": 0})),
    ({"artist": "ann"}, ("0e", 5956131067531916941, 0, {"checks": 0})),
    ({"artist": {"prefix": "Spider-Man"}}, ("0p8", 7670981817481348763, 0, {"checks": 1})),
    ({"seen": "2031-05-01"}, ("3e", 7301951204162194095, 0, {"checks": 0})),
    ({"year": {"from": 2000, "to": 2005}}, ("1c2", 9060162647074206339, 0, {"checks": 16, "l0": 2000, "h0": 2005})),
    (
        {"price": {"above": 1.5}},
        ("2g", 2710373479589668147, 4609434218613702658, {"checks": 16, "l1": 4609434218613702657}),
    ),
    (
        {"price": {"to": -2}},
        ("2l", 4035058182466050128, -4611686018427387905, {"checks": 16, "h1": -4611686018427387905}),
    ),
]


@pytest.mark.parametrize(("asked", "entry"), STORED)
def test_the_entry_of_a_predicate_stays_where_it_is(asked: Any, entry: Any) -> None:
    layout = FieldLayout(7, FIELDS)
    assert [
        (encode_signature(each.signature), each.key, each.sort, each.columns)
        for conjunction in subscription_index.conjunctions(layout, asked)
        for each in subscription_index.index_entries(layout, conjunction, selectivity=Selectivity())
    ] == [entry]
