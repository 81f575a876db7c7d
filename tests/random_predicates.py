"""Fields, predicates and records drawn at random, from few values, so that they often match."""

from datetime import date, timedelta
from typing import Any

from hypothesis import strategies as st

FIELDS = {"artist": "text", "year": "integer", "mint": "boolean", "price": "number", "seen": "date", "title": "text"}
DAYS = [(date(2031, 1, 1) + timedelta(days=day)).isoformat() for day in range(6)]
TEXTS = ["", "a", "ab", "abc", "abd", "b", "éa", "日本", "abcdefghi", "abcdefghij"]
NUMBERS = [-1e300, -2.5, -1, -0.0, 0, 0.5, 1, 2, 3.25, 2**53, 1e300]
INTEGERS = [-(2**63), -7, -1, 0, 1, 2, 3, 4, 5, 100, 2**63 - 1]
VALUES = {"text": TEXTS, "integer": INTEGERS, "boolean": [True, False], "number": NUMBERS, "date": DAYS}


def values(kind: str) -> st.SearchStrategy[Any]:
    """A value that a field of the kind can have."""
    return st.sampled_from(VALUES[kind])


def predicate(kind: str) -> st.SearchStrategy[Any]:
    """A predicate on a field of the kind; a range may be empty."""
    forms = [values(kind), st.lists(values(kind), min_size=1, max_size=5).map(lambda chosen: {"in": chosen})]
    if kind == "text":
        forms.append(values(kind).filter(bool).map(lambda prefix: {"prefix": prefix}))
    if kind in ("integer", "number", "date"):
        forms += [
            st.builds(lambda low, end, high, other: {low: min(end, other), high: max(end, other)}, *_ends(kind)),
            st.builds(lambda low, end: {low: end}, st.sampled_from(["from", "above", "to", "below"]), values(kind)),
        ]
    return st.one_of(forms)


def _ends(kind: str) -> tuple[st.SearchStrategy[Any], ...]:
    return st.sampled_from(["from", "above"]), values(kind), st.sampled_from(["to", "below"]), values(kind)


def predicates(fields: dict[str, str] = FIELDS) -> st.SearchStrategy[dict[str, Any]]:
    """Predicates of a subscription; some are invalid, because their range is empty."""
    return st.fixed_dictionaries({}, optional={name: predicate(kind) for name, kind in fields.items()})


def records(fields: dict[str, str] = FIELDS) -> st.SearchStrategy[dict[str, Any]]:
    """A record, with some fields or all."""
    return st.fixed_dictionaries({}, optional={name: values(kind) for name, kind in fields.items()})
