"""Failures: what was said of failed attempts, by item and by shape."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk, numbered

from rowlock import Counts, Engine, Fail, NotFound, Retry

pytestmark = pytest.mark.parametrize("dialect", EVERY)


def fail(engine: Engine, *errors: str) -> None:
    desk = Desk(engine)
    for error in errors:
        desk.settle(desk.got(1), Fail(error, kind="OSError"))


def test_every_failed_attempt_is_remembered_the_newest_first(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    ann.settle(ann.got(), Retry("first", kind="OSError"))
    clock.advance(5)
    ann.settle(ann.got(), Fail("second"))
    said = [(each.attempt, each.kind, each.message, each.holder) for each in timed["work"].failures("a")]
    assert said == [(2, "fail", "second", "ann"), (1, "OSError", "first", "ann")]


def test_a_long_message_keeps_its_end(timed: Engine) -> None:
    timed["work"].add("a")
    fail(timed, "x" * 10_000 + "the end")
    message = timed["work"].failures("a")[0].message
    assert (len(message), message[0], message[-7:]) == (4000, "…", "the end")


def test_failed_items_are_grouped_by_the_shape_of_what_was_said_last(timed: Engine) -> None:
    timed["work"].add(numbered(4))
    fail(timed, "timeout after 30s", "no such file '/a'", "timeout after 7s", "timeout after 12s")
    groups = [(group.kind, group.shape, group.count, group.example) for group in timed["work"].failure_groups()]
    assert groups == [("OSError", "timeout after #s", 3, "0000"), ("OSError", "no such file #", 1, "0001")]


def test_statuses_of_http_are_told_apart(timed: Engine) -> None:
    timed["work"].add(numbered(4))
    curl = "curl: (22) The requested URL returned error: {} for 7"
    fail(timed, curl.format(404), curl.format(503), "HTTP/1.1 503 of 3", curl.format(404))
    assert {group.shape: group.count for group in timed["work"].failure_groups()} == {
        "curl: (22) The requested URL returned error: 404 for #": 2,
        "curl: (22) The requested URL returned error: 503 for #": 1,
        "HTTP/1.1 503 of #": 1,
    }


def test_an_item_that_is_not_failed_is_in_no_group(timed: Engine) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    ann.settle(ann.got(), Retry("no"))
    assert timed["work"].failure_groups() == []


def test_failed_items_are_found_by_what_was_said(timed: Engine) -> None:
    timed["work"].add(numbered(3))
    fail(timed, "100% full", "100 full", "timeout")
    assert (timed["work"].keys_matching_error("100%"), timed["work"].keys_matching_error("OSError")) == (
        ["0000"],
        numbered(3),
    )


def test_a_failed_item_that_is_retried_is_ready_with_a_clean_count(timed: Engine) -> None:
    timed["work"].add("a")
    fail(timed, "bad")
    retried = timed["work"].retry("a")
    assert (retried, timed["work"].counts(), timed["work"].show("a").attempts) == (1, Counts(ready=1), 0)


def test_the_groups_of_a_list_that_is_not_there_cannot_be_had(timed: Engine) -> None:
    timed.make_ready()
    with pytest.raises(NotFound):
        timed["nowhere"].failure_groups()


def test_all_failed_items_are_retried_and_the_others_stay(timed: Engine) -> None:
    timed["work"].add(numbered(3))
    fail(timed, "disk full", "timeout")
    assert timed["work"].retry_failed() == 2
    assert timed["work"].counts() == Counts(ready=3)


def test_failed_items_are_abandoned_by_a_part_of_their_error(timed: Engine) -> None:
    timed["work"].add(numbered(3))
    fail(timed, "disk full", "timeout", "timeout")
    assert timed["work"].abandon_failed(error="time") == 2
    assert [item.key for item in timed["work"]] == ["0000"]


def test_a_dry_run_counts_and_changes_nothing(timed: Engine) -> None:
    work = timed["work"]
    work.add(numbered(3))
    fail(timed, "disk full", "timeout")
    assert (work.retry_failed(dry_run=True), work.abandon_failed(error="time", dry_run=True)) == (2, 1)
    assert (work.retry(numbered(3), dry_run=True), work.done(["0000", "none"], dry_run=True)) == (2, 1)
    assert work.abandon(numbered(3), dry_run=True) == 3
    assert work.counts() == Counts(ready=1, failed=2)


def test_the_last_failure_that_was_raised_keeps_its_traceback(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    for number, traceback in enumerate(("first", "second", None)):
        ann.settle(ann.got(), Retry(f"{number}", after=1, traceback=traceback))
        clock.advance(5)
    assert [each.traceback for each in timed["work"].failures("a")] == [None, "second", None]


def test_the_tracebacks_of_one_settlement_are_bounded(timed: Engine) -> None:
    timed["work"].add(numbered(300))
    ann = Desk(timed)
    ann.settle(ann.got(300), *[Fail("no", traceback="x" * 4_000)] * 300)
    stored = [len(timed["work"].failures(key)[0].traceback or "") for key in numbered(300)]
    assert (stored.count(4_000), stored.count(0)) == (250, 50)


def test_a_traceback_is_stored_on_every_database(timed: Engine) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    ann.settle(ann.got(), Fail("no", traceback="a\0b \udcff"))
    assert timed["work"].failures("a")[0].traceback == "a\N{REPLACEMENT CHARACTER}b ?"
