"""Errors: one drawn tree, a code each, and they travel between processes."""

import pickle
import re

import pytest

from rowlock import errors
from rowlock.errors import RowlockError


def family(kind: type[RowlockError]) -> list[type[RowlockError]]:
    return [kind, *(each for child in kind.__subclasses__() for each in family(child))]


ALL = [kind for kind in family(RowlockError) if kind.__module__ == "rowlock.errors"]


def drawn() -> dict[str, int]:
    """The names in the docstring with how deep they hang."""
    lines = re.findall(r"^([│├└─ ]*)(\w+)", errors.__doc__.partition("\n\n")[2], re.MULTILINE)
    return {name: len(branch) // 4 for branch, name in lines}


def depth(kind: type[RowlockError]) -> int:
    return kind.__mro__.index(RowlockError)


def test_the_drawing_shows_every_error_where_it_hangs() -> None:
    assert drawn() == {kind.__name__: depth(kind) for kind in ALL}


def test_the_drawing_is_sorted_within_each_family() -> None:
    names = [name for name, deep in drawn().items() if deep == 1]
    assert names == sorted(names)


def test_every_code_is_used_once() -> None:
    codes = [kind.code for kind in ALL]
    assert sorted(codes) == sorted(set(codes))


def test_every_code_is_its_name_in_lower_case() -> None:
    words = {re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower(): kind.code for kind in ALL[1:]}
    assert list(words) == list(words.values())


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_an_error_survives_a_journey(kind: type[RowlockError]) -> None:
    error = pickle.loads(pickle.dumps(kind("this is so", "do that", key="a", line=3)))
    assert (type(error), str(error), error.what, error.hint, error.fields) == (
        kind,
        "this is so; do that",
        "this is so",
        "do that",
        {"key": "a", "line": 3},
    )


@pytest.mark.parametrize("kind", ALL[1:], ids=lambda kind: kind.__name__)
def test_an_error_has_the_statuses_of_its_family(kind: type[RowlockError]) -> None:
    statuses = {
        "Invalid": (2, {400, 405, 406, 413, 415, 422}),
        "NotFound": (3, {404}),
        "Refused": (4, {401, 403, 409, 422}),
    }
    statuses |= {"Stale": (4, {409, 412}), "Unavailable": (5, {503})}
    parent = kind.__mro__[kind.__mro__.index(RowlockError) - 1].__name__
    exit_status, http_statuses = statuses[parent]
    assert (kind.exit_status, kind.http_status in http_statuses) == (exit_status, True)


def test_an_error_without_a_hint_says_only_what_is_true() -> None:
    assert str(RowlockError("this is so")) == "this is so"
