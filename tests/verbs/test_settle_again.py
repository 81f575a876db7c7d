"""A settlement in a transaction of the caller's counts when that transaction commits, and only then."""

import asyncio
from functools import partial
from typing import Any

import pytest
from tests.races.faults import Faulty, Once, raising
from tests.verbs.callers import WAYS, Begun, Caller, Thought, another_gets, connected, results, rolled_back, taken
from tests.verbs.claiming import STRICT, broken, states

from rowlock import AsyncEngine, Counts, Engine, OutcomeUnknown, Session, StaleClaim
from rowlock.errors import InvalidTransaction

pytestmark = pytest.mark.parametrize("dialect", STRICT)

DONE = {"a": "done", "b": "done"}


@pytest.mark.parametrize("way", WAYS)
def test_a_settlement_that_was_rolled_back_lands_the_second_time(work: Engine, session: Session, way: str) -> None:
    begun = WAYS[way]
    claim = taken(session)
    with rolled_back(work, begun) as caller:
        caller.settle(claim)
    with begun(work) as caller:
        assert caller.settle(claim) == DONE
    assert (results(work), another_gets(work), broken(work)) == (["a", "b"], [], [])
    assert work["work"].progress().done == 2


def test_it_lands_the_second_time_without_a_new_word(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    with rolled_back(work, begun) as caller:
        caller.settle(claim)
    with begun(work) as caller:
        assert claim.settle(using=caller.using) == DONE
    assert (another_gets(work), broken(work)) == ([], [])


def test_what_was_rolled_back_is_not_written_outside_of_a_transaction(
    work: Engine, session: Session, begun: Begun
) -> None:
    claim = taken(session)
    with rolled_back(work, begun) as caller:
        caller.settle(claim)
    first, second = claim
    claim.retry(first, "down")
    with pytest.raises(InvalidTransaction, match="did not commit was given these items: 'b'"):
        claim.settle()
    claim.retry(second, "down")
    assert (claim.settle(), work["work"].progress().done) == ({"a": "retried", "b": "retried"}, 0)


def test_what_was_rolled_back_is_not_written_beside_other_items(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    first, second = claim
    with rolled_back(work, begun) as caller:
        claim.done(first)
        claim.settle(using=caller.using, close=False)
    claim.done(second)
    with pytest.raises(InvalidTransaction, match="did not commit was given these items: 'a'"), begun(work) as caller:
        claim.settle(using=caller.using, close=False)
    assert work["work"].progress().done == 0
    with begun(work) as caller:
        claim.retry(first, "down")
        claim.done(second)
        assert claim.settle(using=caller.using) == {"a": "retried", "b": "done"}


def test_a_part_that_has_landed_is_refused_in_another_transaction(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    with begun(work) as caller:
        claim.done(claim.items[0])
        claim.settle(using=caller.using, close=False)
    claim.done(claim.items[0])
    with pytest.raises(StaleClaim), begun(work) as caller:
        claim.settle(using=caller.using, close=False)
    with pytest.raises(StaleClaim), begun(work) as caller:
        claim.settle(using=caller.using, close=False)
    with begun(work) as caller:
        claim.done(claim.items[1])
        assert claim.settle(using=caller.using) == {"b": "done"}


def test_what_has_been_settled_is_refused_in_another_transaction(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    with begun(work) as caller:
        caller.settle(claim)
    with pytest.raises(StaleClaim), begun(work) as caller:
        caller.settle(claim)
    assert (results(work), claim.settle(), broken(work)) == (["a", "b"], DONE, [])


def test_what_was_settled_by_itself_is_refused_in_a_transaction(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    for item in claim:
        claim.done(item)
    claim.settle()
    with pytest.raises(StaleClaim), begun(work) as caller:
        caller.settle(claim)
    assert results(work) == []


def test_a_repeated_call_in_the_same_transaction_writes_nothing(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    with begun(work) as caller:
        assert [caller.settle(claim), claim.settle(using=caller.using)] == [DONE, {}]
    assert (work["work"].progress().done, broken(work)) == (2, [])


def test_a_claim_without_outcomes_is_refused_once_it_has_ended(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    claim.settle()
    with pytest.raises(StaleClaim), begun(work) as caller:
        claim.settle(using=caller.using)


def test_parts_of_a_claim_are_settled_in_several_transactions(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    one, two = claim
    claim.done(one)
    with rolled_back(work, begun) as caller:
        claim.settle(using=caller.using, close=False)
    with begun(work) as caller:
        claim.settle(using=caller.using, close=False)
        claim.settle(using=caller.using, close=False)
    claim.done(two)
    with begun(work) as caller:
        assert claim.settle(using=caller.using) == {"b": "done"}
    assert (work["work"].progress().done, another_gets(work), broken(work)) == (2, [], [])


def test_parts_of_a_claim_are_settled_in_one_transaction(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    one, two = claim
    with begun(work) as caller:
        claim.done(one)
        claim.settle(using=caller.using, close=False)
        claim.done(two)
        assert claim.settle(using=caller.using) == {"b": "done"}
    assert (work["work"].progress().done, broken(work)) == (2, [])


def test_rows_written_by_verdicts_are_written_once(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    for item in claim:
        claim.done(item)
        with begun(work) as caller:
            for key in claim.settle(using=caller.using, partial=True, close=False):
                caller.execute(f"insert into results values ('{key}')")
    assert (results(work), broken(work)) == (["a", "b"], [])


def test_rows_written_by_verdicts_in_one_transaction_are_written_once(
    work: Engine, session: Session, begun: Begun
) -> None:
    claim = taken(session)
    with begun(work) as caller:
        for item in claim:
            claim.done(item)
            for key in claim.settle(using=caller.using, partial=True, close=False):
                caller.execute(f"insert into results values ('{key}')")
    assert (results(work), broken(work)) == (["a", "b"], [])


def test_a_claim_that_was_settled_in_part_is_closed_by_another_transaction(
    work: Engine, session: Session, begun: Begun
) -> None:
    claim = taken(session)
    claim.done(claim.items[0])
    with begun(work) as caller:
        claim.settle(using=caller.using, close=False)
    with rolled_back(work, begun) as caller:
        assert claim.settle(using=caller.using) == {}
    with begun(work) as caller:
        assert claim.settle(using=caller.using) == {}
    assert (work["work"].counts(), work["work"].progress().done, broken(work)) == (Counts(ready=1), 1, [])
    with pytest.raises(StaleClaim), begun(work) as caller:
        claim.settle(using=caller.using)


def test_a_block_that_ends_after_a_commit_writes_nothing_more(work: Engine, session: Session, begun: Begun) -> None:
    with taken(session) as claim, begun(work) as caller:
        caller.settle(claim)
    assert (results(work), work["work"].progress().done, broken(work)) == (["a", "b"], 2, [])


@pytest.mark.parametrize("way", WAYS)
def test_a_block_that_ends_after_a_rollback_releases_its_items(work: Engine, session: Session, way: str) -> None:
    begun = WAYS[way]
    with taken(session) as claim, rolled_back(work, begun) as caller:
        caller.settle(claim)
    assert (results(work), work["work"].counts(), broken(work)) == ([], Counts(ready=2), [])


def test_a_block_does_not_write_what_a_transaction_that_cannot_be_was_to_write(work: Engine, session: Session) -> None:
    with taken(session) as claim:
        claim.done(claim.items[0])
        with pytest.raises(InvalidTransaction):
            claim.settle(using=object())
    assert (work["work"].counts(), broken(work)) == (Counts(ready=2), [])


def test_a_block_writes_the_outcomes_of_other_items(work: Engine, session: Session, begun: Begun) -> None:
    with taken(session) as claim:
        one, two = claim
        claim.done(one)
        with rolled_back(work, begun) as caller:
            claim.settle(using=caller.using, close=False)
        claim.fail(two, "bad")
    assert (states(work), broken(work)) == ({"a": "ready", "b": "failed"}, [])


def test_a_loop_releases_what_was_rolled_back_and_goes_on(work: Engine, session: Session, begun: Begun) -> None:
    seen = []
    for claim in session.claim("work", limit=1):
        seen += [item.key for item in claim]
        if len(seen) == 1:
            with rolled_back(work, begun) as caller:
                caller.settle(claim)
        else:
            with begun(work) as caller:
                caller.settle(claim)
    assert (sorted(seen), results(work), broken(work)) == (["a", "a", "b"], ["a", "b"], [])


def test_a_block_leaves_a_transaction_alone_that_is_still_open(work: Engine, session: Session, begun: Begun) -> None:
    claim = taken(session)
    with begun(work) as caller, claim:
        caller.settle(claim)
    assert (results(work), work["work"].progress().done, broken(work)) == (["a", "b"], 2, [])


def test_what_is_rolled_back_after_its_block_is_free_when_the_session_claims_again(
    work: Engine, session: Session, begun: Begun
) -> None:
    claim = taken(session)
    with rolled_back(work, begun) as caller, claim:
        caller.settle(claim)
    assert (work["work"].counts(), [item.key for item in taken(session)]) == (Counts(claimed=2), ["a", "b"])


def test_a_block_refuses_to_wait_for_the_transaction_that_it_stands_in(
    work: Engine, session: Session, begun: Begun
) -> None:
    claim = taken(session)
    one, two = claim
    claim.done(one)
    with begun(work) as caller:
        claim.settle(using=caller.using, close=False)
        claim.done(two)
        with pytest.raises(InvalidTransaction):
            claim.__exit__()
    assert (claim.settle(), broken(work)) == (DONE, [])


def test_the_same_settlement_by_itself_is_answered_as_before(work: Engine, session: Session) -> None:
    claim = taken(session)
    for item in claim:
        claim.done(item)
    assert [claim.settle(), claim.settle()] == [DONE, DONE]
    claim.done(claim.items[0])
    assert claim.settle() == DONE
    claim.fail(claim.items[0], "bad")
    with pytest.raises(StaleClaim):
        claim.settle()
    assert work["work"].progress().done == 2


def test_a_loop_that_settles_by_itself_goes_on(work: Engine, session: Session) -> None:
    said = []
    for claim in session.claim("work", limit=1):
        claim.done(claim.items[0])
        said.append(claim.settle())
    assert (said, work["work"].progress().done) == ([{"a": "done"}, {"b": "done"}], 2)


def test_a_commit_with_an_unknown_outcome_is_not_made_twice(url: str, work: Engine, begun: Begun) -> None:
    lost = Once(raising(OutcomeUnknown("the connection broke at commit")), at=3)
    with Engine(url, wrap=partial(Faulty, after_commit=lost)) as engine, engine.session() as session:
        claim = taken(session)
        with pytest.raises(OutcomeUnknown), engine.transaction() as tx:
            Caller(tx, tx.execute).settle(claim)
        with pytest.raises(StaleClaim), begun(engine) as caller:
            caller.settle(claim)
        assert (results(work), claim.settle(), broken(work)) == (["a", "b"], DONE, [])


def test_an_async_settlement_that_was_rolled_back_lands_the_second_time(url: str, work: Engine) -> None:
    async def settle(engine: AsyncEngine, claim: Any, *, well: bool) -> Any:
        async with engine.transaction() as tx:
            await tx.execute("insert into results values ('a')")
            claim.done(claim.items[0])
            verdicts = await claim.settle(using=tx)
            if not well:
                raise Thought
            return verdicts

    async def both() -> Any:
        async with AsyncEngine(url) as engine, engine.session() as session:
            claim = await session.take("work", limit=1)
            async with claim:
                with pytest.raises(Thought):
                    await settle(engine, claim, well=False)
                return await settle(engine, claim, well=True)

    assert asyncio.run(asyncio.wait_for(both(), 60)) == {"a": "done"}
    assert (results(work), another_gets(work), broken(work)) == (["a"], ["b"], [])


def test_a_connection_that_is_in_its_next_transaction_holds_up_nothing(work: Engine, session: Session) -> None:
    connection = connected(work)
    with taken(session) as claim:
        one, two = claim
        claim.done(one)
        claim.settle(using=connection, close=False)
        connection.commit()
        connection.execute("begin" if work.dialect == "sqlite" else "select 1")
        claim.done(two)
    connection.close()
    assert (work["work"].progress().done, broken(work)) == (2, [])


def test_it_lands_the_second_time_where_the_transaction_holds_the_only_connection(url: str) -> None:
    with Engine(url, connections=1, patience=1) as engine:
        engine["work"].add("a")
        with engine.session() as session:
            claim = taken(session)
            claim.done(claim.items[0])
            with rolled_back(engine, WAYS["ours"]) as caller:
                claim.settle(using=caller.using)
            with engine.transaction() as tx:
                assert (claim.settle(using=tx), claim.settle(using=tx)) == ({"a": "done"}, {})
            with engine.transaction() as tx, pytest.raises(StaleClaim):
                claim.settle(using=tx)


def test_what_another_transaction_has_settled_meanwhile_is_refused_twice(work: Engine, session: Session) -> None:
    claim = taken(session)
    with rolled_back(work, WAYS["ours"]) as caller:
        caller.settle(claim)
    with WAYS["ours"](work) as caller:
        caller.settle(claim)
    with work.transaction() as tx:
        for _ in range(2):
            with pytest.raises(StaleClaim):
                claim.settle(using=tx)
