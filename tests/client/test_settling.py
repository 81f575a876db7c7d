"""Claims that a client settles: part by part, twice, and by counts that have changed since."""

from collections.abc import Iterator

import pytest

from rowlock import Claim, Client, Counts, NotFound, StaleClaim
from rowlock.engine import Session
from rowlock.errors import NeedsDatabase


@pytest.fixture
def session(client: Client) -> Iterator[Session]:
    client["work"].add(["a", "b"])
    with client.session() as session:
        yield session


def taken(session: Session) -> Claim:
    claim = session.take("work", limit=2)
    assert claim is not None
    return claim


def test_a_claim_is_settled_part_by_part(client: Client, session: Session) -> None:
    claim = taken(session)
    one, two = claim
    claim.done(one)
    first = claim.settle(close=False)
    [left] = session.held(claim.token)
    claim.fail(two, "bad")
    assert (first, left.key, claim.settle()) == ({"a": "done"}, "b", {"a": "done", "b": "failed"})
    assert client["work"].counts() == Counts(failed=1)


def test_the_same_settlement_is_answered_as_before_and_another_is_refused(client: Client, session: Session) -> None:
    claim = taken(session)
    for item in claim:
        claim.done(item)
    assert [claim.settle(), claim.settle()] == [{"a": "done", "b": "done"}] * 2
    claim.fail(claim.items[0], "bad")
    with pytest.raises(StaleClaim):
        claim.settle()
    with pytest.raises(NotFound):
        client["work"].show("a")


def test_an_item_that_was_removed_is_reported_as_gone(client: Client, session: Session) -> None:
    claim = taken(session)
    client["work"].abandon("b")
    for item in claim:
        claim.done(item)
    assert claim.settle() == {"a": "done", "b": "gone"}


def test_what_was_to_be_settled_in_a_transaction_is_not_settled_without_it(client: Client, session: Session) -> None:
    with taken(session) as claim:
        claim.done(claim.items[0])
        with pytest.raises(NeedsDatabase):
            claim.settle(using=object())
    assert client["work"].counts() == Counts(ready=2)


def test_the_last_retry_fails_by_the_count_of_now(client: Client, session: Session) -> None:
    client["work"].settings(attempts=3)
    claim = taken(session)
    for _ in range(3):
        client["work"].increment("a")
    for item in claim:
        claim.retry(item, "no", after=0)
    assert claim.settle() == {"a": "failed", "b": "retried"}


def test_without_a_limit_no_retry_is_the_last(client: Client, session: Session) -> None:
    client["work"].settings(attempts=0)
    for _ in range(9):
        client["work"].increment("a")
    claim = taken(session)
    claim.retry(claim.items[0], "no", after=0)
    assert claim.settle() == {"a": "retried"}
