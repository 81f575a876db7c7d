"""One item goes by one statement, which does what the verbs do that take several."""

from collections.abc import Iterator

import pytest
from tests.races.faults import Faulty

from rowlock import Added, Engine
from rowlock.errors import GatePassed, ListSealed


class Counts:
    """How many statements commit by themselves, and how many transactions begin."""

    def __init__(self) -> None:
        self.single = self.begun = 0

    def __call__(self, connection: object) -> Faulty:
        return Faulty(connection, after_autocommit=self._count_single, before_begin=self._count_begun)

    def _count_single(self, _: object) -> None:
        self.single += 1

    def _count_begun(self, _: object) -> None:
        self.begun += 1


@pytest.fixture
def counts() -> Counts:
    return Counts()


@pytest.fixture
def counted(url: str, counts: Counts) -> Iterator[Engine]:
    with Engine(url, wrap=counts) as engine:
        engine["work"].add(["a", "b"])
        counts.single = counts.begun = 0
        yield engine


def test_one_key_is_added_by_one_statement(counted: Engine, counts: Counts) -> None:
    assert counted["work"].add("c") == Added(1, 0)
    assert (counts.single, counts.begun) == (1, 0)


def test_a_key_that_is_there_is_found_by_one_statement_on_a_server(counted: Engine, counts: Counts) -> None:
    assert counted["work"].add("a") == Added(0, 1)
    assert (counts.single, counts.begun) == ((1, 1) if counted.dialect == "sqlite" else (1, 0))


def test_an_item_is_done_and_incremented_by_one_statement_on_a_server(counted: Engine, counts: Counts) -> None:
    assert (counted["work"].increment("a"), counted["work"].done("a"), counted["work"].done("a")) == (1, 1, 0)
    assert (counts.single, counts.begun) == ((0, 3) if counted.dialect == "sqlite" else (3, 0))


def test_a_single_add_keeps_all_that_an_add_keeps(engine: Engine) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    more = {"data": {"n": [1]}, "gate": 2, "priority": 3, "trace": trace}
    engine["one"].add(["first"], priority=3)
    engine["one"].add("a", **more)
    engine["many"].add(["a", "b"], **more)
    one, many = engine["one"].show("a"), engine["many"].show("a")
    assert (one.data, one.gate, one.priority, one.trace) == (many.data, many.gate, many.priority, many.trace)


def test_a_single_add_with_a_delay_is_counted_as_delayed(engine: Engine) -> None:
    engine["work"].add("first")
    engine["work"].add("later", due="1h")
    assert (engine["work"].counts().ready, engine["work"].counts().delayed) == (1, 1)


def test_a_single_add_of_a_new_priority_opens_its_lane(engine: Engine) -> None:
    engine["work"].add("a")
    engine["work"].add("b", priority=1)
    with engine.session() as session:
        assert [item.key for item in session.take("work", limit=1)] == ["b"]


def test_a_single_add_belongs_to_its_family(engine: Engine) -> None:
    engine["work"].settings(concurrency_by={"separator": "/", "limit": 1})
    engine["work"].add("x/1")
    engine["work"].add("x/2")
    engine["work"].add("y")
    with engine.session() as session:
        keys = [item.key for _ in range(3) for item in session.take("work", limit=3) or ()]
        assert keys == ["x/1", "y"]


def test_a_single_add_is_refused_as_others_are(engine: Engine) -> None:
    engine["work"].add("a", gate=1)
    engine["work"].open_gate(1)
    with pytest.raises(GatePassed):
        engine["work"].add("b", gate=0)
    engine["work"].seal()
    with pytest.raises(ListSealed):
        engine["work"].add("b")


def test_the_last_item_of_a_gate_opens_the_next(engine: Engine) -> None:
    engine["work"].add("a")
    engine["work"].add("b", gate=1)
    engine["work"].done("a")
    assert engine["work"].info().gate == 1


def test_a_single_done_keeps_results_where_the_list_does(engine: Engine) -> None:
    engine["work"].settings(keep_results=True)
    engine["work"].add("a")
    engine["work"].done("a")
    assert len(engine["work"].results("a")) == 1


def test_a_failed_or_delayed_item_that_is_done_is_not_counted_any_more(engine: Engine) -> None:
    engine["work"].add("a", due="1h")
    engine["work"].done("a")
    assert engine["work"].counts().delayed == 0


def test_a_single_add_is_audited(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.acting("ann"):
        engine["work"].add("b")
    assert [(record.verb, record.count) for record in engine.audit()] == [("items.add", 1)]


@pytest.mark.parametrize("dialect", ["cockroach", "pooled"])
def test_one_key_is_added_by_one_statement_elsewhere(counted: Engine, counts: Counts) -> None:
    assert (counted["work"].add("c"), counts.single, counts.begun) == (Added(1, 0), 1, 0)


def test_a_key_that_is_given_twice_to_a_new_list_is_added_once(engine: Engine) -> None:
    keys = [f"{number}" for number in range(10_500)]
    assert engine["work"].add([*keys, "5"]) == Added(10_500, 1)


def test_a_key_that_is_given_twice_to_a_new_list_in_a_transaction_is_added_once(engine: Engine) -> None:
    with engine.transaction() as tx:
        assert tx["work"].add(["a", "b", "a"]) == Added(2, 1)
    assert engine["work"].counts().ready == 2


def test_one_item_in_a_transaction_is_added_and_done_with_it(engine: Engine) -> None:
    engine["work"].add("first")
    with pytest.raises(ValueError, match="undone"):
        change_and_undo(engine)
    with engine.transaction() as tx:
        tx["work"].add("b")
    assert [item.key for item in engine["work"]] == ["b", "first"]


def change_and_undo(engine: Engine) -> None:
    with engine.transaction() as tx:
        assert (tx["work"].add("a"), tx["work"].done("first")) == (Added(1, 0), 1)
        raise ValueError("undone")
