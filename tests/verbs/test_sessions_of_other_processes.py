"""Sessions without a heart: opened by one process, taken up by another, settled by whoever knows their names."""

import pytest
from tests.conftest import Clock

from rowlock import Engine, StaleClaim, StaleSession, State, Verdict


def test_another_process_settles_what_was_claimed(timed: Engine) -> None:
    timed["names"].add(["a", "b", "c"])
    session = timed.session(beats=False, expiry="1m").open()
    claim = session.take("names", limit=2)
    held = timed.rejoin(session.id).held(claim.token)
    held.done(held.items[0])
    assert ([item.key for item in held], held.settle(close=False)) == (["a", "b"], {"a": Verdict.DONE})
    [left] = timed.rejoin(session.id).held(claim.token)
    assert left.key == "b"


def test_a_claim_ends_with_the_last_of_its_items(timed: Engine) -> None:
    timed["names"].add(["a", "b"])
    session = timed.session(beats=False).open()
    held = session.held(session.take("names", limit=2).token)
    held.done(held.items[0])
    held.done(held.items[1])
    held.settle(close=False)
    with pytest.raises(StaleClaim):
        session.held(held.token)


def test_what_was_added_inside_the_interval_later_was_not_claimed(timed: Engine) -> None:
    timed["names"].add(["a", "b", "c"])
    session = timed.session(beats=False).open()
    claim = session.take("names", limit=3)
    [_, late, _] = claim.items
    with timed.transaction() as tx:  # as if the middle one had been committed after the claim
        handed = f'{{"handed":{{"{claim.token}":[{claim.items[0].position},{claim.items[2].position}]}}}}'
        tx.run(lambda inner: inner.run("sessions/set_details", session=session.id, details=handed))
    assert late.key not in [item.key for item in session.held(claim.token)]


def test_what_was_committed_after_the_claim_of_a_session_with_a_heartbeat_was_not_claimed(postgres_url: str) -> None:
    with Engine(postgres_url) as engine, engine.session() as session:
        engine["names"].add("a")
        with engine.transaction() as tx:
            tx["names"].add("late")
            engine["names"].add("b")
            claim = session.take("names")
        inside = [item.key for item in engine["names"].page(state="claimed")]
        assert (inside, [item.key for item in session.held(claim.token)]) == (["a", "b", "late"], ["a", "b"])


def test_a_session_without_heartbeats_lives_for_its_expiry(timed: Engine, clock: Clock) -> None:
    timed["names"].add("a")
    session = timed.session(beats=False, expiry="1m").open()
    claim = session.take("names")
    clock.advance(50)
    session.beat()
    clock.advance(50)
    timed.upkeep()
    assert len(session.held(claim.token)) == 1
    clock.advance(61)
    timed.upkeep()
    with pytest.raises(StaleClaim):
        session.held(claim.token)
    with pytest.raises(StaleSession):
        timed.rejoin(session.id).beat()


def test_a_claim_of_another_session_is_not_held(timed: Engine) -> None:
    timed["names"].add("a")
    claim = timed.session(beats=False).open().take("names")
    with pytest.raises(StaleClaim):
        timed.session(beats=False).open().held(claim.token)


def test_a_session_remembers_only_claims_that_live(timed: Engine) -> None:
    timed["names"].add(["a", "b", "c"])
    session = timed.session(beats=False).open()
    for _ in range(3):
        session.take("names", limit=1).settle()
    [info] = timed.sessions()
    assert len(info.details["handed"]) == 1


def test_what_is_due_again_is_ready_while_the_rest_of_its_claim_is_held(timed: Engine, clock: Clock) -> None:
    timed["names"].add(["a", "b"])
    session = timed.session(beats=False, expiry="1h").open()
    claim = session.take("names", limit=2)
    claim.retry(claim.items[0], after="5s")
    claim.settle(close=False)
    clock.advance(6)
    assert [item.state for item in timed["names"]] == [State.READY, State.CLAIMED]
    assert [item.key for item in timed["names"].page(state="ready")] == ["a"]
    assert timed["names"].show("a").state == State.READY
