"""The loader of statements: variants, fragments, parameters."""

import re

import pytest

from rowlock.db import postgres, sqlite
from rowlock.db.statements import SQL, Statements, names, source

DIALECTS = {"sqlite": sqlite.DIALECT, "postgres": postgres.DIALECT, "cockroach": postgres.COCKROACH}


def test_a_variant_goes_before_the_common_file() -> None:
    assert source("items/add_keys", ("sqlite",)).name == "add_keys.sqlite.sql"


def test_a_dialect_without_a_variant_gets_the_common_file() -> None:
    assert source("items/add_keys", ("cockroach", "postgres")).name == "add_keys.sql"


def test_a_dialect_gets_its_own_variant_before_that_of_its_kin() -> None:
    assert source("migrations/lock", ("cockroach", "postgres")).name == "lock.cockroach.sql"


def test_names_are_listed_once_and_sorted() -> None:
    assert names() == sorted(set(names()))


def test_every_variant_is_of_a_dialect_that_exists() -> None:
    assert {path.name.split(".")[1] for path in SQL.glob("*/*.sql")} <= {"sql", *DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_comments_are_left_out(dialect: str) -> None:
    known = Statements(DIALECTS[dialect])
    assert [name for name in names() if "--" in known.get(name).text] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_fragment_is_known(dialect: str) -> None:
    known = Statements(DIALECTS[dialect])
    assert [name for name in names() if re.search(r"\{[^}']", known.get(name).text)] == []


def test_casts_are_no_parameters() -> None:
    text = Statements(postgres.DIALECT).get("items/add_rows").text
    assert ("::json" in text, "%(rows)s" in text) == (True, True)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_movable_clock_leaves_no_other_time(dialect: str) -> None:
    known = Statements(DIALECTS[dialect], movable_clock=True)
    texts = " ".join(known.get(name).text for name in names())
    assert [
        word for word in ("julianday", "timestamp()", "now()", "current_time", "current_date") if word in texts
    ] == []


def test_a_statement_says_whether_it_reads_the_clock() -> None:
    known = Statements(sqlite.DIALECT)
    assert (known.get("tallies/record").timed, known.get("lists/find").timed) == (True, False)


def test_a_statement_that_is_not_there_is_a_mistake_of_ours() -> None:
    with pytest.raises(FileNotFoundError):
        Statements(sqlite.DIALECT).get("lists/juggle")


def test_a_part_is_filled_in_as_the_dialect_writes_it() -> None:
    texts = [Statements(DIALECTS[dialect]).get("subscriptions/index_rows").text for dialect in ("sqlite", "postgres")]
    assert ["json_each(s.filed)" in text for text in texts] == [True, False]
    assert not any("{" in text for text in texts)


def test_a_statement_whose_part_reads_the_clock_is_timed() -> None:
    assert Statements(sqlite.DIALECT).get("items/show").timed
