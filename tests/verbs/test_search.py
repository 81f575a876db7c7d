"""Search of items: what matches a filter is found, counted and changed in bounded steps."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk, broken, numbered

from rowlock import Counts, Engine, Fail, Invalid, NotFound, Retry, item_search
from rowlock.engine import List

pytestmark = pytest.mark.parametrize("dialect", EVERY)


@pytest.fixture
def work(timed: Engine) -> List:
    """Items 0000 to 0005: two have failed, one is delayed after a failed attempt, one is claimed, two are ready."""
    timed["work"].add(numbered(6))
    desk = Desk(timed)
    desk.settle(desk.got(3), Fail("no answer from 10.0.0.1"), Fail("disk full"), Retry("no answer", after=60))
    desk.got(1)
    return timed["work"]


@pytest.fixture
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call looks at two items only."""
    monkeypatch.setattr(item_search, "ROWS_PER_SEARCH", 2)
    monkeypatch.setattr(item_search, "ROWS_PER_COUNT", 2)


def found(work: List, **where: object) -> list[str]:
    page = work.search(**where)  # type: ignore[arg-type]
    assert page.next is None
    return [item.key for item in page.items]


def test_items_are_found_by_their_state(work: List) -> None:
    states = {state: found(work, state=state) for state in ("failed", "delayed", "claimed", "ready", "gated")}
    assert states == {
        "failed": ["0000", "0001"],
        "delayed": ["0002"],
        "claimed": ["0003"],
        "ready": ["0004", "0005"],
        "gated": [],
    }


def test_items_are_found_by_their_last_error_in_any_state(work: List) -> None:
    assert found(work, error="no answer") == ["0000", "0002"]
    assert found(work, error="no answer", state="delayed") == ["0002"]
    assert found(work, error="%") == []


def test_items_are_found_by_attempts_and_gate(work: List) -> None:
    work.add("later", gate=2)
    assert (found(work, attempts=1), found(work, gate=2)) == (["0000", "0001", "0002"], ["later"])


def test_items_are_found_by_the_beginning_of_their_key(work: List) -> None:
    work.add(["a", "a\U0010ffff", "a\ud7ff", "b"])
    assert (found(work, prefix="a"), found(work, prefix="a\ud7ff")) == (["a", "a\ud7ff", "a\U0010ffff"], ["a\ud7ff"])


def test_a_found_item_tells_its_last_error(work: List) -> None:
    item = work.search(state="failed").items[0]
    assert (item.kind, item.error, item.attempts) == ("fail", "no answer from 10.0.0.1", 1)


def test_pages_of_what_matches_follow_each_other(work: List) -> None:
    first = work.search(attempts=0, limit=4)
    rest = work.search(attempts=0, limit=4, after=first.next or "")
    assert ([item.key for item in first.items + rest.items], rest.next) == (numbered(6), None)


@pytest.mark.usefixtures("short_steps")
def test_a_search_ends_early_and_tells_where_to_go_on(work: List) -> None:
    page = work.search(state="claimed")
    assert (page.items, page.next) == ([], "0001")
    counted = work.count_matching(state="claimed")
    assert (counted.count, counted.next) == (0, "0001")
    page = work.search(state="claimed", after="0001")
    assert ([item.key for item in page.items], page.next) == (["0003"], "0003")


def test_what_matches_is_counted(work: List) -> None:
    counted = work.count_matching(error="no answer")
    assert (counted.count, counted.next) == (2, None)


@pytest.mark.usefixtures("short_steps")
def test_all_that_match_are_changed_step_by_step(work: List, timed: Engine) -> None:
    assert work.retry_matching(error="no answer", dry_run=True) == 2
    assert work.retry_matching(error="no answer") == 2
    assert work.counts() == Counts(ready=4, claimed=1, failed=1)
    assert work.abandon_matching(prefix="0001") == 1
    assert work.done_matching(attempts=0) == 5
    assert (work.counts().total, work.progress().done, work.progress().abandoned, broken(timed)) == (0, 5, 1, [])


def test_a_retry_of_all_that_match_counts_only_what_waits(work: List) -> None:
    assert (work.retry_matching(attempts=0, dry_run=True), work.retry_matching(attempts=0)) == (3, 3)


def test_due_and_priority_of_all_that_match_are_set_but_not_of_claimed_items(work: List, timed: Engine) -> None:
    assert work.save_matching(prefix="000", priority=1) == 5
    assert [item.key for item in work.search(attempts=0).items if item.priority != 1] == ["0003"]
    assert work.save_matching(state="ready", due="1h") == 2
    assert (work.counts(), broken(timed)) == (Counts(delayed=3, claimed=1, failed=2), [])


def test_items_become_due_as_a_search_sees_them(work: List, clock: Clock) -> None:
    clock.advance(61)
    assert found(work, state="delayed") == []


def test_a_wrong_filter_is_refused(work: List, timed: Engine) -> None:
    for wrong in ({"state": "lost"}, {"attempts": -1}, {"gate": -1}, {"error": ""}, {"prefix": "\0"}, {"limit": 0}):
        with pytest.raises(Invalid):
            work.search(**wrong)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        timed["nowhere"].search()


def test_a_group_of_failures_is_found_exactly(engine: Engine) -> None:
    work = engine["work"]
    work.add(["a", "b"])
    work.increment("a", error="boom")
    work.increment("b", error="boom 'x'")
    (kind,) = {item.kind for item in work.search().items}
    assert [item.key for item in work.search(kind=kind, shape="boom").items] == ["a"]
    assert work.count_matching(kind="other", shape="boom").count == 0
    with pytest.raises(Invalid, match="kind and shape must be given together"):
        work.search(shape="boom")
