"""An answer that is lost does no harm: what was asked is asked again, and done once."""

from collections.abc import Iterator

import pytest
from tests.client.losing import Losing, losing
from tests.http.serving import Serving

from rowlock import Added, Client, NotFound, OutcomeUnknown, Verdict


@pytest.fixture
def pair(served: Serving) -> Iterator[tuple[Losing, Client]]:
    with losing(served.client.port) as found:
        yield found


def test_an_attempt_is_counted_once(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    client["names"].add(["a", "b"])
    between.lose = 2
    assert client["names"].increment(["a", "b"], error="slow") == 2
    assert [item.attempts for item in client["names"]] == [1, 1]
    assert between.lost == ["POST /v1/lists/names/items/increment"] * 2


def test_a_strict_add_does_not_meet_itself(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    between.lose = 1
    assert client["names"].add(["a", "b"], strict=True) == Added(2, 0)
    assert between.lose == 0


def test_a_long_add_is_counted_as_if_nothing_had_been_lost(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    client["names"].add("k7")
    between.lose = 1
    assert client["names"].add(f"k{number}" for number in range(12_000)) == Added(11_999, 1)


def test_a_short_add_is_not_done_twice(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    between.lose = 1
    client["names"].add("a")
    assert client["names"].progress().added == 1


def test_a_list_is_renamed_once(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    client["names"].add("a")
    between.lose = 1
    client["names"].rename("others")
    assert [info.name for info in client.lists()] == ["others"]


def test_a_claim_whose_answer_was_lost_is_returned_again(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    client["names"].add(["a", "b"])
    between.lose = 1
    with client.session() as session:
        between.lose = 1
        claim = session.take("names")
        assert claim is not None
        assert [item.key for item in claim] == ["a", "b"]
        assert session.take("names") is None
        [info] = client.sessions()
        assert (info.claims, info.items) == (1, 2)


def test_a_settlement_lands_once_and_is_answered(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    client["names"].add(["a", "b", "c"])
    with client.session() as session:
        claim = session.take("names")
        assert claim is not None
        first, second, third = claim
        claim.done(first)
        claim.retry(second, "slow")
        claim.fail(third, "broken")
        between.lose = 2
        assert claim.settle() == {"a": Verdict.DONE, "b": Verdict.RETRIED, "c": Verdict.FAILED}
    progress = client["names"].progress()
    assert (progress.done, progress.retried, progress.failed) == (1, 1, 1)


def test_a_session_is_opened_once_and_closed_once(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    between.lose = 1
    session = client.session().open()
    assert [each.id for each in client.sessions()] == [session.id]
    between.lose = 1
    session.close()
    assert client.sessions() == []


def test_an_unrepeatable_request_raises_outcome_unknown(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    between.lose = 1
    with pytest.raises(OutcomeUnknown):
        client.tokens.create("admin")
    assert between.lost == ["POST /v1/tokens"]


def test_a_repeated_drop_finds_no_list(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    client["names"].add("a")
    between.lose = 1
    with pytest.raises(NotFound):
        client["names"].drop()
    assert client.lists() == []
