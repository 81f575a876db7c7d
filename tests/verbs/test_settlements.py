"""Settlements: the end of an item's turn, once, under its claim; what is no longer claimed is not written."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import STRICT, Desk, all_done, attempts, broken, keys, numbered, states

from rowlock import Counts, Done, Engine, Fail, Move, Progress, Retry, StaleClaim, lists, settlements
from rowlock.errors import GatePassed, Invalid, InvalidData, InvalidOutcome

pytestmark = pytest.mark.parametrize("dialect", STRICT)


@pytest.fixture
def work(timed: Engine) -> Engine:
    timed["work"].add(["a", "b", "c", "d"])
    return timed


def test_a_done_claim_is_off_the_list_and_counted(work: Engine) -> None:
    ann = Desk(work)
    assert ann.done(ann.got()) == ["done"] * 4
    assert (work["work"].counts(), work["work"].progress()) == (Counts(), Progress(added=4, done=4))


def test_each_item_ends_as_it_was_said(work: Engine, clock: Clock) -> None:
    ann = Desk(work)
    said = ann.settle(ann.got(), Done(), Retry("no", after=60), Move(1, data={"n": 1}), Fail("bad"))
    assert said == ["done", "retried", "moved", "failed"]
    assert states(work) == {"b": "delayed", "c": "gated", "d": "failed"}
    assert (work["work"].progress(), broken(work)) == (Progress(added=4, done=1, retried=1, moved=1, failed=1), [])


def test_counts_are_exact_after_each_part(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    positions = [item.position for item in taken.items]
    counted = []
    for position, outcome in zip(positions, [Done(), Retry("no", after=9), Fail("bad"), Move(2)], strict=True):
        work.run(settlements.settle, ann.id, taken.token, [(position, outcome)], close=False)
        counts = work["work"].counts()
        counted.append((counts.claimed, counts.delayed, counts.failed, counts.gated))
        assert broken(work) == []
    assert counted == [(3, 0, 0, 0), (2, 1, 0, 0), (1, 1, 1, 0), (0, 1, 1, 1)]


def test_a_retried_item_goes_to_the_back_of_its_lane(work: Engine) -> None:
    ann = Desk(work)
    ann.settle(ann.got(1), Retry("no"))
    assert (keys(ann.look()), attempts(work)["a"]) == (["b", "c", "d", "a"], 1)


def test_a_repeated_retry_in_place_counts_one_attempt(work: Engine) -> None:
    work["work"].settings(exclusive=True)
    ann = Desk(work)
    taken = ann.got(2)
    outcomes = (Done(), Retry("no", after=0))
    first = ann.settle(taken, *outcomes, close=False)
    assert (first, ann.settle(taken, *outcomes, close=False)) == (["done", "retried"],) * 2
    assert (attempts(work)["b"], work["work"].progress().retried, broken(work)) == (1, 1, [])


def test_a_settlement_is_known_again_as_long_as_its_claim_lives(work: Engine, clock: Clock) -> None:
    ann = Desk(work, expiry=3_600_000)
    taken = ann.got()
    ann.settle(taken, Done(), close=False)
    clock.advance(1_200)
    work.upkeep()
    assert ann.settle(taken, Done()) == ["done"]


def test_a_delayed_retry_waits_its_time(work: Engine, clock: Clock) -> None:
    ann = Desk(work)
    ann.settle(ann.got(1), Retry("no", after="1m"))
    ann.done(ann.got())
    clock.advance(59)
    early = ann.look()
    clock.advance(1)
    assert (early, keys(ann.look())) == (None, ["a"])


def test_a_moved_item_keeps_its_data_unless_it_gets_others(timed: Engine) -> None:
    timed["work"].add(["a", "b"], data=1)
    ann = Desk(timed)
    ann.settle(ann.got(), Move(1), Move(1, data=None))
    assert {item.key: (item.gate, item.data) for item in timed["work"]} == {"a": (1, 1), "b": (1, None)}


def test_more_moves_than_one_statement_takes_are_all_written_in_order(timed: Engine) -> None:
    timed["work"].add(numbered(settlements.MAX_MOVES_PER_STATEMENT + 2))
    ann = Desk(timed)
    taken = ann.got(settlements.MAX_MOVES_PER_STATEMENT + 2)
    ann.settle(taken, *[Move(data=number) for number in range(len(taken.items))])
    again = ann.got(settlements.MAX_MOVES_PER_STATEMENT + 2)
    assert (keys(again), [item.data for item in again.items]) == (keys(taken), list(range(len(taken.items))))


def test_a_settlement_of_items_far_apart_leaves_those_between_alone(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    first, last = taken.items[0].position, taken.items[-1].position
    said = [(last, Retry("no", after=60)), (first, Retry("no", after=60))]
    assert work.run(settlements.settle, ann.id, taken.token, said, close=False) == ["retried"] * 2
    assert states(work) == {"a": "delayed", "b": "claimed", "c": "claimed", "d": "delayed"}


def test_a_move_within_the_gate_goes_to_the_end(work: Engine) -> None:
    ann = Desk(work)
    ann.settle(ann.got(1), Move(data="again"))
    assert keys(ann.look()) == ["b", "c", "d", "a"]


def test_a_move_may_wait(work: Engine, clock: Clock) -> None:
    ann = Desk(work)
    ann.settle(ann.got(), *[Move(after=60)] * 4)
    early = ann.look()
    clock.advance(60)
    assert (early, keys(ann.look()), broken(work)) == (None, ["a", "b", "c", "d"], [])


def test_a_move_to_a_passed_gate_is_refused_and_nothing_is_written(work: Engine) -> None:
    with work.transaction() as tx:
        tx.execute("update rowlock_lists set gate = 2")
    work["work"].add("z")
    ann = Desk(work)
    taken = ann.got()
    with pytest.raises(GatePassed):
        ann.settle(taken, Move(1))
    assert states(work)["z"] == "claimed"


def test_data_that_is_not_json_is_refused_and_nothing_is_written(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    with pytest.raises(InvalidData):
        ann.settle(taken, Done(), Move(1, data={1, object()}))
    assert (work["work"].counts(), ann.done(taken)) == (Counts(claimed=4), ["done"] * 4)


def test_two_outcomes_for_one_item_are_refused(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    position = taken.items[0].position
    with pytest.raises(InvalidOutcome):
        work.run(settlements.settle, ann.id, taken.token, [(position, Done()), (position, Fail("bad"))])
    assert (work["work"].counts(), broken(work)) == (Counts(claimed=4), [])


def test_what_was_not_settled_is_free_when_the_claim_ends(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    ann.settle(ann.got(), Done(), Done())
    assert keys(bob.look()) == ["c", "d"]


def test_a_claim_that_is_settled_in_part_keeps_the_rest(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    ann.settle(ann.got(), Done(), Done(), close=False)
    assert (bob.look(), work["work"].counts()) == (None, Counts(claimed=2))


def test_an_abandoned_item_is_gone_and_the_others_are_done(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    work["work"].abandon("b")
    assert ann.done(taken) == ["done", "gone", "done", "done"]
    assert (work["work"].progress(), broken(work)) == (Progress(added=4, done=3, abandoned=1), [])


def test_an_item_that_was_abandoned_and_added_again_is_not_settled(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    work["work"].abandon("b")
    work["work"].add("b")
    assert ann.settle(taken, Done(), Fail("bad"), Done(), Done()) == ["done", "gone", "done", "done"]
    assert (states(work), attempts(work)) == ({"b": "ready"}, {"b": 0})


@pytest.mark.parametrize("outcome", [Done(), Retry("no"), Move(1), Fail("bad")], ids=lambda each: type(each).__name__)
def test_an_abandoned_item_is_gone_whatever_its_outcome(work: Engine, outcome: object) -> None:
    ann = Desk(work)
    taken = ann.got()
    work["work"].abandon("a")
    assert (ann.settle(taken, outcome), broken(work)) == (["gone"], [])


def test_a_claim_whose_items_were_all_abandoned_ends_without_an_error(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    work["work"].abandon(["a", "b", "c", "d"])
    assert (ann.done(taken), work["work"].counts(), broken(work)) == (["gone"] * 4, Counts(), [])


def test_the_claim_of_another_session_cannot_be_settled(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    taken = ann.got()
    with pytest.raises(StaleClaim):
        bob.done(taken)
    with pytest.raises(StaleClaim):
        bob.settle(taken, Done())
    assert (work["work"].counts(), ann.done(taken)) == (Counts(claimed=4), ["done"] * 4)


def test_a_claim_does_not_reach_items_of_other_claims(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    mine, theirs = ann.got(2), bob.got(2)
    positions = [item.position for item in theirs.items]
    said = work.run(settlements.settle, ann.id, mine.token, [(each, Done()) for each in positions], close=False)
    assert (said, bob.done(theirs)) == (["gone"] * 2, ["done"] * 2)


def test_all_done_does_not_reach_items_of_other_claims(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    mine, theirs = ann.got(2), bob.got(2)
    said = work.run(settlements.settle_done, ann.id, mine.token, [item.position for item in theirs.items])
    assert (said, bob.done(theirs), keys(ann.look())) == (["gone"] * 2, ["done"] * 2, ["a", "b"])


def test_a_settled_claim_cannot_be_settled_otherwise(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    ann.done(taken)
    with pytest.raises(StaleClaim) as refused:
        ann.settle(taken, *[Fail("bad")] * 4)
    assert (refused.value.fields, work["work"].progress()) == ({"token": taken.token}, Progress(added=4, done=4))


def test_a_repeated_settlement_is_answered_as_before(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    work["work"].abandon("b")
    outcomes = (Done(), Retry("no"), Move(1), Fail("bad"))
    first = ann.settle(taken, *outcomes)
    after = work["work"].info()
    assert (first, ann.settle(taken, *outcomes)) == (["done", "gone", "moved", "failed"],) * 2
    assert (work["work"].info(), broken(work)) == (after, [])


def test_all_done_repeated_is_answered_as_before(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    work["work"].abandon("b")
    first = ann.done(taken)
    assert (first, ann.done(taken)) == (["done", "gone", "done", "done"],) * 2
    assert work["work"].progress() == Progress(added=4, done=3, abandoned=1)


def test_all_done_repeated_by_another_verb_is_answered_as_before(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    ann.done(taken)
    assert ann.settle(taken, *all_done(taken)) == ["done"] * 4


@pytest.mark.parametrize(
    "outcome",
    [Done(), Retry("no"), Retry("no", after=5), Move(1), Move(), Fail("bad")],
    ids=lambda each: repr(each)[:16],
)
def test_a_repeated_part_is_answered_as_before_and_counts_once(work: Engine, outcome: object) -> None:
    ann = Desk(work)
    taken = ann.got()
    first = ann.settle(taken, outcome, close=False)
    after = work["work"].info()
    assert ann.settle(taken, outcome, close=False) == first
    assert (work["work"].info(), work["work"].counts().claimed, broken(work)) == (after, 3, [])


def test_a_part_settled_twice_with_other_words_lands_once(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    said = [ann.settle(taken, Retry("no", after=each), close=False) for each in (1, 2, 3, 4, 5)]
    assert said == [["retried"], ["gone"], ["gone"], ["gone"], ["gone"]]
    assert (attempts(work)["a"], work["work"].counts().claimed, broken(work)) == (1, 3, [])


def test_a_stale_claim_writes_nothing_in_the_transaction_of_the_caller(work: Engine, clock: Clock) -> None:
    ann = Desk(work)
    taken = ann.got()
    clock.advance(16)
    work.upkeep()
    with work.transaction() as tx:
        with pytest.raises(StaleClaim):
            tx.run(settlements.settle, ann.id, taken.token, [(taken.items[0].position, Fail("late"))])
        tx["other"].add("x")
    assert (states(work), states(work, "other")) == (dict.fromkeys("abcd", "ready"), {"x": "ready"})
    assert broken(work) == []


def test_a_settlement_and_the_rows_of_the_caller_commit_together(work: Engine) -> None:
    with work.session(holder="ann") as session:
        claim = session.take("work")
        assert claim is not None
        for item in claim:
            claim.done(item)
        with work.transaction() as tx:
            tx["other"].add("x")
            claim.settle(using=tx)
    assert (work["work"].counts(), work["other"].counts()) == (Counts(), Counts(ready=1))


def test_a_settlement_and_the_rows_of_the_caller_are_rolled_back_together(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    with pytest.raises(ZeroDivisionError):
        settle_and_raise(work, ann, [item.position for item in taken.items])
    assert ([info.name for info in work.lists()], work["work"].counts()) == (["work"], Counts(claimed=4))
    assert ann.done(taken) == ["done"] * 4


def settle_and_raise(engine: Engine, desk: Desk, positions: list[int]) -> None:
    with engine.transaction() as tx:
        tx["other"].add("x")
        tx.run(
            settlements.settle_done, desk.id, tx.execute("select token from rowlock_claims").fetchone()[0], positions
        )
        raise ZeroDivisionError


def test_results_are_kept_where_the_list_keeps_them(work: Engine) -> None:
    work["work"].settings(keep_results=True)
    ann = Desk(work)
    ann.settle(ann.got(2), Done({"size": 3}), Done())
    with work.transaction() as tx:
        rows = tx.execute("select key, data, attempts from rowlock_results order by key").fetchall()
    assert [tuple(row) for row in rows] == [("a", '{"size":3}', 0), ("b", None, 0)]


def test_results_are_not_kept_twice_for_a_repeated_settlement(work: Engine) -> None:
    work["work"].settings(keep_results=True)
    ann = Desk(work)
    taken = ann.got(1)
    ann.settle(taken, Done(1))
    ann.settle(taken, Done(1))
    with work.transaction() as tx:
        assert tuple(tx.execute("select count(*) from rowlock_results").fetchone()) == (1,)


def test_a_thousand_items_are_worked_by_eight_and_each_is_done_once(timed: Engine) -> None:
    timed["work"].add(numbered(1000))
    desks = [Desk(timed, f"number {each}") for each in range(8)]
    verdicts = []
    while held := [(desk, taken) for desk in desks if (taken := desk.take(17) or desk.look(17))]:
        verdicts += [verdict for desk, taken in reversed(held) for verdict in desk.done(taken)]
    assert (verdicts, timed["work"].counts(), broken(timed)) == (["done"] * 1000, Counts(), [])
    assert timed["work"].progress() == Progress(added=1000, done=1000)


def test_a_result_that_is_not_json_does_not_matter_where_no_results_are_kept(work: Engine) -> None:
    ann = Desk(work)
    assert ann.settle(ann.got(1), Done(object())) == ["done"]


def test_a_result_that_is_not_json_is_refused_where_it_would_be_kept(work: Engine) -> None:
    work["work"].settings(keep_results=True)
    ann = Desk(work)
    with pytest.raises(InvalidData):
        ann.settle(ann.got(1), Done(object()))


def test_an_error_with_text_that_no_database_can_keep_is_kept_as_far_as_it_can_be(work: Engine) -> None:
    ann = Desk(work)
    ann.settle(ann.got(1), Retry("a\0b \ud800 c"))
    assert work["work"].failures("a")[0].message == "a\N{REPLACEMENT CHARACTER}b ? c"


def test_a_part_that_is_repeated_as_the_last_one_ends_the_claim(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got(1)
    ann.settle(taken, Done(), close=False)
    assert (ann.settle(taken, Done()), work.sessions()[0].claims) == (["done"], 0)


def test_a_repeated_part_that_ends_the_claim_wakes_the_list(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    taken = ann.got()
    ann.settle(taken, Done(), close=False)
    work.run(lists.apply_wakes)
    assert (bob.look(), work.read(lists.awake)) == (None, [])
    assert ann.settle(taken, Done()) == ["done"]
    work.run(lists.apply_wakes)
    assert ([each.name for each in work.read(lists.awake)], keys(bob.look())) == (["work"], ["b", "c", "d"])


def test_an_outcome_is_said_of_an_item_and_not_of_its_key(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.session() as session:
        claim = session.take("work")
        assert claim is not None
        with pytest.raises(Invalid, match="item must be an item of the claim, got 'a'"):
            claim.done("a")  # type: ignore[arg-type]
