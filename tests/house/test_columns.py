"""Rows are decoded by the names of their columns: those that are read from a statement are those of the database."""

import ast
import re
from collections.abc import Iterator

import msgspec
import pytest
from tests.house.places import MODULES, tree

from rowlock import Engine, Item
from rowlock.claims import COLUMNS
from rowlock.db import Tx
from rowlock.db.row_decoders import PACKED, decoder, result_columns
from rowlock.model import CLAIMED_COLUMNS, PAYLOAD_COLUMNS, STORED_COLUMNS

PARAMETER = re.compile(r"%\((\w+)\)s|(?<!:):([a-z_]\w*)")
OF_CLAIMS = ["claims/take", "claims/take_gap", "items/claimable_at"]
OF_LANES = ["claims/take_hinted_lane", "items/in_interval"]


def decoded() -> Iterator[str]:
    """The names of the statements whose rows become structs."""
    # Only these are parsed: each process that runs tests reads this before its first test.
    for path in (path for path in MODULES if ".struct" in path.read_text()):
        for node in ast.walk(tree(path)):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="struct" | "structs"), args=[_, ast.Constant(value=str(name)), *_]
                ):
                    yield name


DECODED = sorted({*decoded(), *OF_CLAIMS, *OF_LANES, "items/show_many", "tokens/live"})


class _Undone(Exception):
    pass


def given_by(engine: Engine, name: str) -> tuple[str, ...]:
    """Run a statement without values in a transaction that is rolled back, and return its cursor's columns."""
    found: tuple[str, ...] = ()

    def run(tx: Tx) -> None:
        nonlocal found
        text = tx.statements.get(name).text
        *before, last = text.split(";\n") if engine.dialect == "sqlite" else [text]
        if last.startswith(PACKED):  # the columns of the rows that are packed
            last = f"select * {last[last.index('from (') :]}"
        given = {first or second: None for first, second in PARAMETER.findall(text)} | {"limit": 0}
        for statement in before:
            tx.execute(statement, given)
        found = tuple(column[0] for column in tx.execute(last, given).description or ())
        raise _Undone

    with pytest.raises(_Undone):
        engine.run(run)
    return found


@pytest.mark.parametrize("name", DECODED)
def test_a_statement_gives_the_columns_that_are_read_from_it(engine: Engine, name: str) -> None:
    assert engine.run(lambda tx: tx.statements.columns(name)) == given_by(engine, name)


@pytest.mark.parametrize("name", OF_CLAIMS)
def test_statements_that_claim_give_an_interval_and_its_items(engine: Engine, name: str) -> None:
    assert engine.run(lambda tx: tx.statements.columns(name)) == COLUMNS


@pytest.mark.parametrize("name", OF_LANES)
def test_statements_of_one_lane_give_its_items(engine: Engine, name: str) -> None:
    assert engine.run(lambda tx: tx.statements.columns(name)) == CLAIMED_COLUMNS


def test_the_columns_of_an_item_are_those_of_its_table(engine: Engine) -> None:
    with engine.transaction() as tx:
        stored = {column[0] for column in tx.execute("select * from rowlock_items").description or ()}
    assert set(PAYLOAD_COLUMNS) < set(STORED_COLUMNS) == stored - {"list", "family"}


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("select a, t.b, count(*) as c from t where d", ("a", "b", "c")),
        ("with x as (select z from y) select coalesce(a, (select 1, 2)) as n, ', from' as m from x", ("n", "m")),
        ("insert into t select 1 as one returning a, b is null as c", ("a", "c")),
        ("delete from t;\nselect a from b union select c from d", ("a",)),
        (f"{PACKED}i.a, i.b)) from (select 1) as i", ("a", "b")),
        ("update t set a = 1", ()),
    ],
)
def test_columns_are_read_from_a_statement(sql: str, columns: tuple[str, ...]) -> None:
    assert result_columns(sql) == columns


class _Pair(msgspec.Struct):
    left: int
    right: bool = True


def test_rows_are_decoded_by_name_whatever_the_order() -> None:
    assert decoder(_Pair, ("right", "left"))([(0, 7)]) == [_Pair(7, False)]


def test_what_is_equal_in_all_rows_is_given_once() -> None:
    assert decoder(_Pair, ("left",), given=("right",))([(1,), (2,)], False) == [_Pair(1, False), _Pair(2, False)]


@pytest.mark.parametrize("columns", [("right",), ("left", "centre")])
def test_columns_that_do_not_fit_a_struct_are_refused(columns: tuple[str, ...]) -> None:
    with pytest.raises(TypeError, match="do not fit _Pair"):
        decoder(_Pair, columns)


def test_an_item_is_the_same_after_a_way_as_json(engine: Engine) -> None:
    engine["work"].add("a", data={"n": [1]}, due="1h")
    item = engine["work"].show("a")
    assert msgspec.json.decode(msgspec.json.encode(item), type=Item) == item
