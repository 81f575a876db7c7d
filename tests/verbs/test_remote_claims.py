"""Workers that hold no engine: they claim and settle by key, through whoever speaks for them."""

from functools import partial

import pytest
from tests.conftest import Clock

from rowlock import Done, Engine, Fail, Move, Retry, StaleClaim, StaleSession, Verdict, remote_claims, sessions
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.outcomes import Outcome
from rowlock.remote_claims import Settlement

SESSION = "session"


def opened(engine: Engine, session: str = SESSION, expiry: int = 60_000) -> int:
    return engine.run(remote_claims.open_session, session, holder="bash", expiry=expiry, details={})


def taken(engine: Engine, *, limit: int = 100, token: str = "token", key: str | None = None) -> ClaimedItems | None:
    asking = ClaimRequest(SESSION, "work", limit, token)
    if key is not None:
        return engine.run(remote_claims.take_once, asking, thorough=False, key=key)
    return engine.run(remote_claims.take, asking, thorough=False)


def settled(engine: Engine, *, token: str = "token", close: bool = False, **said: Outcome) -> dict[str, Verdict]:
    settlement = Settlement(SESSION, token, said, close)
    return engine.run(remote_claims.settle, settlement, random=lambda: 0.5)


@pytest.fixture
def work(engine: Engine) -> Engine:
    engine["work"].add(["a", "b", "c", "d"])
    opened(engine)
    return engine


def test_each_key_has_its_verdict(work: Engine) -> None:
    assert taken(work) is not None
    work["work"].abandon("d")
    verdicts = settled(work, a=Done(), b=Retry("slow"), c=Fail("broken"), d=Done(), x=Done())
    assert verdicts == {"a": "done", "b": "retried", "c": "failed", "d": "gone", "x": "gone"}
    assert [(item.key, item.state, item.attempts) for item in work["work"]] == [("b", "delayed", 1), ("c", "failed", 1)]
    assert [(failure.holder, failure.message) for failure in work["work"].failures("c")] == [("bash", "broken")]


def test_a_failure_names_the_holder_of_its_own_session(work: Engine) -> None:
    work.run(remote_claims.open_session, "later", holder="zsh", expiry=60_000, details={})
    work.run(remote_claims.take, ClaimRequest("later", "work", 1, "other"), thorough=False)
    work.run(remote_claims.settle, Settlement("later", "other", {"a": Fail("broken")}, True), random=lambda: 0.5)
    assert [failure.holder for failure in work["work"].failures("a")] == ["zsh"]


def test_the_same_settlement_is_answered_again(work: Engine) -> None:
    taken(work)
    once = partial(settled, work, a=Done(), b=Retry("slow"), c=Move(data=1), x=Done(), close=True)
    first = once()
    assert first == once() == {"a": "done", "b": "retried", "c": "moved", "x": "gone"}
    assert work["work"].progress().done == 1
    assert work["work"].show("b").attempts == 1


def test_a_repeated_part_is_answered_again_while_the_claim_lives(work: Engine) -> None:
    taken(work)
    assert settled(work, a=Done()) == settled(work, a=Done()) == {"a": "done"}
    assert settled(work, b=Done(), c=Done(), d=Done()) == {"b": "done", "c": "done", "d": "done"}
    assert settled(work, a=Done()) == {"a": "done"}
    assert work["work"].progress().done == 4


def test_what_is_not_named_stays_claimed(work: Engine) -> None:
    taken(work)
    settled(work, a=Done())
    assert work["work"].counts().claimed == 3
    settled(work, b=Done(), close=True)
    assert (work["work"].counts().claimed, work["work"].counts().ready) == (0, 2)


def test_the_claim_ends_when_nothing_of_it_is_left(work: Engine) -> None:
    taken(work, limit=2)
    settled(work, a=Done())
    settled(work, b=Retry())
    with pytest.raises(StaleClaim):
        settled(work, c=Done())


def test_another_claim_s_items_are_not_settled_under_this_one(work: Engine) -> None:
    taken(work, limit=2, token="one")
    taken(work, limit=2, token="two")
    assert settled(work, token="one", c=Done()) == {"c": "gone"}
    assert work["work"].counts().claimed == 4


def test_an_item_that_was_taken_off_and_added_again_is_another_one(work: Engine) -> None:
    taken(work)
    work["work"].abandon("a")
    work["work"].add("a")
    assert settled(work, a=Done()) == {"a": "gone"}
    assert work["work"].show("a").state == "ready"


def test_a_lost_session_settles_nothing(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    opened(timed)
    taken(timed)
    clock.advance(61)
    timed.upkeep()
    with pytest.raises(StaleClaim):
        settled(timed, a=Done())
    with pytest.raises(StaleSession):
        taken(timed, token="another")


def test_the_last_allowed_attempt_fails(work: Engine) -> None:
    work["work"].settings(attempts=1)
    taken(work)
    assert settled(work, a=Retry("no")) == {"a": "failed"}


def test_a_claim_under_a_key_is_made_once(work: Engine) -> None:
    first, again = taken(work, limit=2, key="k"), taken(work, limit=2, token="unused", key="k")
    assert first is not None
    assert again is not None
    assert (first.token, [item.key for item in first.items]) == (again.token, [item.key for item in again.items])
    assert work["work"].counts().claimed == 2


def test_a_beat_keeps_a_session_for_as_long_as_it_was_opened_for(timed: Engine, clock: Clock) -> None:
    until = opened(timed, expiry=60_000)
    clock.advance(30)
    assert timed.run(remote_claims.beat, SESSION) == until + 30_000
    assert timed.run(remote_claims.beat, SESSION, expiry=5_000) == clock.now + 5_000


def test_a_session_that_is_no_more_does_not_beat(engine: Engine) -> None:
    with pytest.raises(StaleSession):
        engine.run(remote_claims.beat, "nobody")


@pytest.mark.parametrize(
    ("scope", "lists", "theirs"),
    [
        ((), (), True),
        ((), ("own/",), False),
        (("own/",), (), True),
        (("own/",), ("own/",), True),
        (("own/a",), ("own/",), True),
        (("own/",), ("own/a",), False),
        (("own/", "more/"), ("own/",), False),
    ],
)
def test_a_session_is_there_for_those_who_may_see_all_its_lists(
    engine: Engine, scope: tuple[str, ...], lists: tuple[str, ...], theirs: bool
) -> None:
    engine.run(remote_claims.open_session, "s-1", holder="ann", expiry=60_000, details={}, scope=scope)
    assert engine.read(sessions.is_within, "s-1", lists) is theirs
    assert [info.id for info in engine.read(sessions.page, prefixes=lists)] == (["s-1"] if theirs else [])


def test_a_session_that_does_not_exist_belongs_to_no_scope(engine: Engine) -> None:
    assert engine.read(sessions.is_within, "s-1", ["own/"]) is False
