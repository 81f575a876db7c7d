"""What a power cut may forget is not flushed to the file; whatever else a connection does is."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.verbs.group_commits import together

from rowlock import Engine, Worker
from rowlock.db import Pending, Tx, unflushed
from rowlock.db.driver import DatabaseConnection
from rowlock.environment import Deadline

FULL, NORMAL = 2, 1

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"])


def level(tx: Tx) -> int:
    """How commits of this transaction are flushed."""
    [(found,)] = tx.execute("pragma synchronous").fetchall()
    return int(found)


@unflushed
def light(tx: Tx) -> int:
    """The same by a verb that may be forgotten."""
    return level(tx)


def piece(tx: Tx) -> Pending[int]:
    """The same as a piece of a trip."""
    found = level(tx)
    return Pending(lambda: found)


@unflushed
def light_piece(tx: Tx) -> Pending[int]:
    """The same as one that may be forgotten."""
    return piece(tx)


def test_only_what_is_marked_is_not_flushed(engine: Engine) -> None:
    assert [engine.run(verb) for verb in (level, light, level, light)] == [FULL, NORMAL, FULL, NORMAL]
    with engine.database.transaction() as tx:
        assert level(tx) == FULL


def test_a_pipeline_is_flushed_if_any_piece_of_it_is(engine: Engine) -> None:
    trips = (light_piece,), (piece, light_piece), (piece,)
    assert [engine.pipeline(*each) for each in trips] == [[NORMAL], [FULL, FULL], [FULL]]


def test_after_an_error_all_is_flushed_again(engine: Engine) -> None:
    @unflushed
    def fails(tx: Tx) -> None:
        raise KeyError(level(tx))

    with pytest.raises(KeyError, match=str(NORMAL)):
        engine.run(fails)
    assert engine.run(level) == FULL


def test_a_group_keeps_them_apart(engine: Engine) -> None:
    assert together(engine, (level,), (light,), (level,), (light,)) == [FULL, NORMAL, FULL, NORMAL]
    assert engine.run(level) == FULL


class Noting:
    """A connection that notes whether its transactions are flushed."""

    def __init__(self, connection: DatabaseConnection, noted: list[tuple[str, bool]]) -> None:
        self._connection = connection
        self._noted = noted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def begin(self, *, deadline: Deadline, flushed: bool = True) -> None:
        self._noted.append(("begin", flushed))
        self._connection.begin(deadline=deadline, flushed=flushed)

    def pipeline(self, works: Sequence[Callable[[], Any]], *, deadline: Deadline, flushed: bool = True) -> list[Any]:
        self._noted.append((f"{len(works)} pieces", flushed))
        return self._connection.pipeline(works, deadline=deadline, flushed=flushed)


def test_a_claim_by_itself_needs_no_flush_and_a_settlement_does(url: str) -> None:
    noted: list[tuple[str, bool]] = []
    with Engine(url, wrap=lambda connection: Noting(connection, noted)) as engine:
        engine["work"].add(["a", "b"])
        with engine.session() as session:
            noted.clear()
            first = session.take("work", limit=1)
            assert first is not None
            assert noted == [("begin", False)]
            first.done(next(iter(first)))
            first.settle()
            assert noted[1:] == [("begin", True)]
            noted.clear()
            for claim in session.claim("work", limit=1):
                claim.done(next(iter(claim)))
    assert noted[:2] == [("begin", False), ("2 pieces", True)]


def test_a_worker_flushes_what_it_settles(url: str) -> None:
    noted: list[tuple[str, bool]] = []
    with Engine(url, wrap=lambda connection: Noting(connection, noted)) as engine:
        engine["work"].add("a")
        noted.clear()
        worker = Worker(engine, concurrency=1)
        worker.on("work", lambda _: noted.append(("handler", True)))
        worker.run(until="done", signals=False)
    at = noted.index(("handler", True))
    assert ("1 pieces", False) in noted[:at]
    assert any(what.endswith("pieces") and flushed for what, flushed in noted[at + 1 :])
