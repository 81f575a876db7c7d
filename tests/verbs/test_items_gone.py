"""Items that were taken off their list while they were claimed; and claims that are settled part by part."""

import pytest
from tests.verbs.callers import Begun, results, rolled_back, taken
from tests.verbs.claiming import STRICT, broken, states

from rowlock import Counts, Engine, ItemsGone, Session, StaleClaim

pytestmark = pytest.mark.parametrize("dialect", STRICT)


def test_a_gone_item_is_refused_in_a_transaction_and_named(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    work["work"].abandon("b")
    with pytest.raises(ItemsGone, match="'b'") as refused, begun(work) as caller:
        caller.settle(claim)
    assert (refused.value.code, refused.value.fields) == ("items-gone", {"keys": ["b"], "token": claim.token})
    assert (results(work), states(work), broken(work)) == ([], {"a": "claimed"}, [])


def test_nothing_of_a_refused_settlement_stays_if_the_caller_commits(
    work: Engine, session: Session, begun: Begun
) -> None:
    claim = taken(session)
    work["work"].done("b")
    with begun(work) as caller, pytest.raises(ItemsGone):
        caller.settle(claim)
    assert (states(work), work["work"].progress().done, broken(work)) == ({"a": "claimed"}, 1, [])


def test_the_rest_is_settled_when_it_is_said_again_in_another_transaction(
    work: Engine, session: Session, begun: Begun
) -> None:
    claim = taken(session)
    work["work"].abandon("b")
    with pytest.raises(ItemsGone), begun(work) as caller:
        caller.settle(claim)
    with begun(work) as caller:
        caller.execute("insert into results values ('a')")
        claim.done(claim.items[0])
        verdicts = claim.settle(using=caller.using)
    assert (verdicts, claim.settle(), results(work)) == ({"a": "done"}, {"a": "done"}, ["a"])
    assert (states(work), broken(work)) == ({}, [])


def test_a_gone_item_is_refused_again_if_nothing_or_everything_is_said_again(
    work: Engine, session: Session, begun: Begun
) -> None:
    claim = taken(session)
    work["work"].abandon("b")
    with pytest.raises(ItemsGone), begun(work) as caller:
        caller.settle(claim)
    with pytest.raises(ItemsGone, match="'b'"), begun(work) as caller:
        claim.settle(using=caller.using)
    with pytest.raises(ItemsGone, match="'b'"), begun(work) as caller:
        caller.settle(claim)
    assert (results(work), states(work), broken(work)) == ([], {"a": "claimed"}, [])


def test_a_refused_transaction_is_refused_again_while_it_may_hold_rows_for_what_has_gone(
    work: Engine, session: Session, begun: Begun
) -> None:
    claim = taken(session)
    work["work"].abandon("b")
    with rolled_back(work, begun) as caller:
        with pytest.raises(ItemsGone):
            caller.settle(claim)
        claim.done(claim.items[0])
        with pytest.raises(ItemsGone, match="'b'"):
            claim.settle(using=caller.using)
    assert (results(work), states(work), broken(work)) == ([], {"a": "claimed"}, [])


def test_a_partial_settlement_in_a_transaction_reports_a_gone_item(
    work: Engine, session: Session, begun: Begun
) -> None:
    claim = taken(session)
    work["work"].abandon("b")
    with begun(work) as caller:
        verdicts = caller.settle(claim, partial=True)
    assert (verdicts, claim.settle(), broken(work)) == ({"a": "done", "b": "gone"}, {"a": "done", "b": "gone"}, [])


def test_a_settlement_in_its_own_transaction_reports_a_gone_item(work: Engine, session: Session) -> None:
    claim = taken(session)
    work["work"].abandon("b")
    for item in claim:
        claim.done(item)
    assert claim.settle() == {"a": "done", "b": "gone"}


@pytest.mark.parametrize("say", ["done", "retry", "move", "fail"])
def test_a_gone_item_is_refused_whatever_its_outcome(work: Engine, session: Session, say: str) -> None:
    claim = taken(session)
    for item in claim:
        getattr(claim, say)(item)
    work["work"].abandon("a")
    with pytest.raises(ItemsGone), work.transaction() as tx:
        claim.settle(using=tx)
    assert (states(work), broken(work)) == ({"b": "claimed"}, [])


def test_an_error_names_a_few_items_in_words_and_all_in_its_fields(work: Engine, session: Session) -> None:
    keys = [f"{number:02}" for number in range(9)]
    work["work"].add(keys)
    claim = taken(session, limit=11)
    for item in claim:
        claim.done(item)
    work["work"].abandon(keys)
    with pytest.raises(ItemsGone, match="'00', '01', '02', '03', '04' and 4 more") as refused, work.transaction() as tx:
        claim.settle(using=tx)
    assert refused.value.fields["keys"] == keys


def test_a_claim_is_settled_part_by_part(work: Engine, session: Session) -> None:
    claim = taken(session)
    one, two = claim
    claim.done(one)
    first = claim.settle(close=False)
    between = work["work"].counts()
    claim.fail(two, "bad")
    assert (first, between, claim.settle()) == ({"a": "done"}, Counts(claimed=1), {"a": "done", "b": "failed"})
    assert (work["work"].progress().done, states(work), broken(work)) == (1, {"b": "failed"}, [])


def test_a_claim_that_is_settled_in_part_is_held(work: Engine, session: Session) -> None:
    claim = taken(session)
    claim.done(claim.items[0])
    claim.settle(close=False)
    held = session.held(claim.token)
    assert [item.key for item in held] == ["b"]
    held.done(held.items[0])
    assert (held.settle(), work["work"].counts()) == ({"b": "done"}, Counts())
    with pytest.raises(StaleClaim):
        session.held(claim.token)


def test_a_claim_of_a_session_with_a_heartbeat_can_be_held_by_another_process(work: Engine, session: Session) -> None:
    claim = taken(session)
    assert [item.key for item in work.rejoin(session.id).held(claim.token)] == ["a", "b"]
