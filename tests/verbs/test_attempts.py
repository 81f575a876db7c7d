"""How often an item may fail: counted when its outcome is written, at the gate where it stands."""

import msgspec
import pytest
from tests.verbs.claiming import STRICT, Desk, attempts, broken, states

from rowlock import Engine, Move, Retry, claims

pytestmark = pytest.mark.parametrize("dialect", STRICT)


@pytest.fixture
def work(timed: Engine) -> Engine:
    timed["work"].add(["a", "b", "c", "d"])
    return timed


def test_a_retry_that_does_not_count_charges_no_attempt(work: Engine) -> None:
    ann = Desk(work)
    ann.settle(ann.got(1), Retry("too early", counted=False))
    assert attempts(work)["a"] == 0


def test_the_last_retry_fails_by_the_count_of_now_and_not_of_the_claim(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got(2)
    for _ in range(3):
        work["work"].increment("a")
    said = ann.settle(taken, Retry("no", after=0), Retry("no", after=0))
    assert (said, states(work)["a"], attempts(work)["a"], broken(work)) == (["failed", "retried"], "failed", 4, [])
    assert work["work"].progress().failed == 1


def test_a_session_s_claim_goes_by_the_count_of_now(work: Engine) -> None:
    work["work"].settings(attempts=3)
    with work.session() as session:
        claim = session.take("work", limit=1)
        assert claim is not None
        for _ in range(3):
            work["work"].increment("a")
        claim.retry(claim.items[0], after=0)
        assert claim.settle() == {"a": "failed"}
    assert (states(work)["a"], attempts(work)["a"]) == ("failed", 4)


def test_a_repeated_last_retry_is_answered_as_before(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got(3)
    for _ in range(2):
        work["work"].increment("b")
    work["work"].abandon("c")
    outcomes = [Retry("no", after=5)] * 3
    first = ann.settle(taken, *outcomes, close=False)
    assert (first, ann.settle(taken, *outcomes)) == (["retried", "failed", "gone"],) * 2
    assert (attempts(work), broken(work)) == ({"a": 1, "b": 3, "d": 0}, [])


def test_a_retry_that_does_not_count_is_never_the_last(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got(1)
    for _ in range(3):
        work["work"].increment("a")
    assert ann.settle(taken, Retry("too early", counted=False)) == ["retried"]


def test_without_a_limit_no_retry_is_the_last(work: Engine) -> None:
    ann = Desk(work)
    asking = msgspec.structs.replace(ann.ask(1), attempts=0)
    for _ in range(9):
        work["work"].increment("a")
    taken = work.run(claims.take_thoroughly, asking)
    assert taken is not None
    assert (ann.settle(taken, Retry("no")), attempts(work)["a"]) == (["retried"], 10)


@pytest.mark.parametrize("move", [Move(data="again"), Move(0)], ids=["no gate", "this gate"])
def test_a_move_within_the_gate_keeps_the_attempts(work: Engine, move: Move) -> None:
    work["work"].increment("a")
    ann = Desk(work)
    ann.settle(ann.got(1), move)
    assert attempts(work)["a"] == 1


def test_a_move_clears_the_attempts_of_the_gate_before(work: Engine) -> None:
    work["work"].increment("a")
    ann = Desk(work)
    ann.settle(ann.got(1), Move(1))
    assert attempts(work)["a"] == 0
