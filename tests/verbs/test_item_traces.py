"""The trace of an item is stored with it, shown, and handed out with it, as often as it comes."""

from collections.abc import Sequence

import pytest

from rowlock import Engine, Fail, Invalid, Item, Move, NewItem, Retry

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def handed_out(engine: Engine, name: str = "work", limit: int = 10) -> Sequence[Item]:
    with engine.session() as session:
        claim = session.take(name, limit=limit)
        assert claim is not None
        return list(claim.items)


def test_it_is_stored_and_handed_out(engine: Engine) -> None:
    engine["work"].add(["a", "b"], trace=TRACE)
    engine["work"].add(["a", "c"])
    assert [item.trace for item in engine["work"].page()] == [TRACE, TRACE, None]
    assert engine["work"].show("a").trace == TRACE
    assert [item.trace for item in handed_out(engine)] == [TRACE, TRACE, None]


def test_items_that_differ_have_it_too(engine: Engine) -> None:
    engine["work"].add([{"key": "a", "data": 1}, NewItem("b", due="1h"), "c"], trace=TRACE)
    assert [item.trace for item in engine["work"].items()] == [TRACE] * 3
    assert [item.trace for item in engine["work"].items(state="delayed")] == [TRACE]


def test_each_of_a_group_keeps_its_own(engine: Engine) -> None:
    other = TRACE.replace("b7", "c8")
    works = engine.grouped["work"]
    works.add("a", trace=TRACE)
    works.add("b", trace=other)
    works.add("c")
    assert [item.trace for item in engine["work"].items()] == [TRACE, other, None]


@pytest.mark.parametrize("outcome", [Retry(after=0), Move(gate=0)])
def test_it_stays_when_the_item_comes_back(engine: Engine, outcome: Retry | Move) -> None:
    engine["work"].add("a", trace=TRACE)
    with engine.session() as session:
        claim = session.take("work")
        assert claim is not None
        claim.say(claim.items[0], outcome)
        claim.settle()
    assert [item.trace for item in handed_out(engine)] == [TRACE]


def test_failed_items_show_it(engine: Engine) -> None:
    engine["work"].add("a", trace=TRACE)
    with engine.session() as session:
        claim = session.take("work")
        assert claim is not None
        claim.say(claim.items[0], Fail("no"))
        claim.settle()
    assert [item.trace for item in engine["work"].items(state="failed")] == [TRACE]


def test_what_is_left_of_a_claim_has_it(engine: Engine) -> None:
    engine["work"].add(["a", "b"], trace=TRACE)
    with engine.session(beats=False) as session:
        claim = session.take("work", limit=2)
        assert claim is not None
        assert [item.trace for item in session.held(claim.token)] == [TRACE, TRACE]


def test_what_is_no_trace_is_refused_and_nothing_added(engine: Engine) -> None:
    with pytest.raises(Invalid):
        engine["work"].add("a", trace="yesterday")
    assert engine.lists() == []
