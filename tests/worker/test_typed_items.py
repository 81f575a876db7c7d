"""Handlers with a type for their data: it is decoded and checked before they run, and what does not fit fails."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pydantic
import pytest
from tests.worker.logs import collected
from tests.worker.running import said, sound, work_off

from rowlock import Engine, Invalid, Item, TypedItem, Worker


class Letter(msgspec.Struct):
    to: str
    copies: int = 1


@dataclass
class Card:
    to: str
    copies: int = 1


class Parcel(pydantic.BaseModel):
    to: str
    copies: int = 1


@pytest.mark.parametrize("kind", [Letter, Card, Parcel])
def test_a_handler_gets_data_of_its_type(engine: Engine, kind: Any) -> None:
    engine["mail"].add("a", data={"to": "ann", "copies": 2})
    worker = Worker(engine)
    got: list[Any] = []

    @worker.on("mail", data=kind)
    def send(item: TypedItem[Any]) -> None:
        got.append((item.key, item.data))

    work_off(worker)
    assert got == [("a", kind(to="ann", copies=2))]
    assert sound(engine)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Letter, "Expected `int`, got `str` - at `$.copies`"),
        (Parcel, "copies: Input should be a valid integer, unable to parse string as an integer"),
    ],
)
def test_data_that_does_not_fit_fails_at_once_and_names_the_field(engine: Engine, kind: Any, wrong: str) -> None:
    engine["mail"].add([{"key": "bad", "data": {"to": "ann", "copies": "two"}}, {"key": "good", "data": {"to": "bob"}}])
    worker = Worker(engine)
    got: list[str] = []
    worker.on("mail", lambda item: got.append(item.data.to), data=kind, attempts=5)
    with collected() as records:
        work_off(worker)
    assert (got, [item.key for item in engine["mail"].page(state="failed")]) == (["bob"], ["bad"])
    assert said(engine, "bad", "mail") == ("invalid-data", f"the data of 'bad' does not fit: {wrong}")
    assert [vars(record)["key"] for record in records] == ["bad"]
    assert sound(engine)


def test_a_batch_gets_the_items_whose_data_fits(engine: Engine) -> None:
    engine["mail"].add([{"key": f"{number}", "data": {"to": number if number == 3 else "ann"}} for number in range(6)])
    worker = Worker(engine)
    batches: list[list[str]] = []
    worker.on("mail", lambda items: batches.append([item.key for item in items]), data=Letter, batch=10)
    work_off(worker)
    assert batches == [["0", "1", "2", "4", "5"]]
    assert (engine["mail"].counts().failed, engine["mail"].progress().done) == (1, 5)


def test_items_that_all_do_not_fit_all_fail(engine: Engine) -> None:
    engine["mail"].add(["a", "b"])
    worker = Worker(engine)
    worker.on("mail", lambda _: None, data=Letter)
    work_off(worker)
    assert engine["mail"].counts().failed == 2
    assert sound(engine)


def test_a_type_that_cannot_be_decoded_is_refused(engine: Engine) -> None:
    with pytest.raises(Invalid, match="data must be a type that msgspec or pydantic decodes"):
        Worker(engine).on("mail", lambda _: None, data={"to": str})


def test_each_gate_has_its_handler(engine: Engine) -> None:
    engine["flow"].settings(gates=["fetch", "parse", "store"])
    engine["flow"].add([{"key": f"{gate}{number}", "gate": gate} for gate in (0, 1, 2) for number in (1, 2)])
    worker = Worker(engine)
    ran: list[tuple[str, str | None, str]] = []
    for name in ("parse", "fetch"):

        @worker.on("flow", gate=name)
        def handle(item: Item, name: str = name) -> None:
            ran.append((name, item.gate_name, item.key))

    worker.on("flow", lambda item: ran.append(("any", item.gate_name, item.key)))
    work_off(worker)
    assert sorted(ran) == [
        ("any", "store", "21"),
        ("any", "store", "22"),
        ("fetch", "fetch", "01"),
        ("fetch", "fetch", "02"),
        ("parse", "parse", "11"),
        ("parse", "parse", "12"),
    ]
    assert sound(engine)


def test_a_worker_leaves_gates_alone_for_which_it_has_no_handler(engine: Engine) -> None:
    engine["flow"].settings(gates=["fetch", "parse"])
    engine["flow"].add([{"key": "a", "gate": 0}, {"key": "b", "gate": 1}])
    worker = Worker(engine)
    ran: list[str] = []
    worker.on("flow", lambda item: ran.append(item.key), gate="fetch", attempts=1)
    worker.run(until="idle", signals=False)
    assert (ran, [(item.key, item.attempts) for item in engine["flow"]]) == (["a"], [("b", 0)])
    parser = Worker(engine)
    parser.on("flow", lambda item: ran.append(item.key), gate=1)
    work_off(parser)
    assert ran == ["a", "b"]


def test_a_gate_that_the_list_does_not_have_is_named(engine: Engine) -> None:
    engine["flow"].settings(gates=["fetch", "parse"])
    engine["flow"].add("a")
    worker = Worker(engine)
    worker.on("flow", lambda _: None, gate="fech")
    with collected() as records:
        worker.run(until="idle", signals=False)
    assert [record.getMessage() for record in records] == [
        "the list 'flow' has no gate 'fech'; its gates are fetch, parse"
    ]


class Bomb(pydantic.BaseModel):
    to: str

    @pydantic.field_validator("to")
    @classmethod
    def explode(cls, to: str) -> str:
        if to == "ann":
            raise SystemExit(3)
        return to


def test_a_validator_that_exits_fails_its_item_and_not_the_worker(engine: Engine) -> None:
    engine["mail"].add([{"key": "bad", "data": {"to": "ann"}}, {"key": "good", "data": {"to": "bob"}}])
    worker = Worker(engine)
    got: list[str] = []
    worker.on("mail", lambda item: got.append(item.data.to), data=Bomb)
    work_off(worker)
    assert (got, [item.key for item in engine["mail"].page(state="failed")]) == (["bob"], ["bad"])
    assert sound(engine)
