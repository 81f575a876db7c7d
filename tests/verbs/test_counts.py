"""Counts and progress: sums of tallies, always equal to what a count of the items would say."""

from collections import Counter

from tests.conftest import Clock

from rowlock import Counts, Engine, Progress, tallies


def counted(engine: Engine, name: str = "work") -> Counts:
    """Counts the slow way: every item looked at."""
    return Counts(**Counter(str(item.state) for item in engine[name]))


def tally_rows(engine: Engine) -> int:
    with engine.transaction() as tx:
        return int(tx.execute("select count(*) from rowlock_tallies").fetchone()[0])


def mix(engine: Engine, clock: Clock) -> None:
    """A bit of everything that can happen to items that nobody claims."""
    work = engine["work"]
    work.add([f"ready-{number}" for number in range(20)])
    work.add((f"due-{number}" for number in range(20)), due="1m")
    work.add((f"late-{number}" for number in range(20)), due="1h")
    work.add(({"key": f"gate-{number}", "gate": number % 3, "due": number * 30} for number in range(20)), priority=1)
    work.increment(["ready-1", "due-1", "gate-1", "gone"])
    work.done(["ready-1", "ready-2", "due-1", "late-1", "gate-1", "gate-2", "gate-3", "gone"])
    work.abandon(["ready-3", "due-3", "late-3", "gate-4", "gate-5"])
    clock.advance(90)
    work.done(["due-4", "late-4", "gate-6"])
    work.retry(["ready-5", "due-5", "late-5", "gate-7", "gate-8"])
    work.add(["due-5", "due-4", "new"])


def test_counts_after_a_mixture_are_those_of_the_items(timed: Engine, clock: Clock) -> None:
    mix(timed, clock)
    assert timed["work"].counts() == counted(timed)


def test_progress_after_a_mixture_is_what_happened(timed: Engine, clock: Clock) -> None:
    mix(timed, clock)
    assert timed["work"].progress() == Progress(added=82, done=10, retried=3, abandoned=5)


def test_folding_keeps_counts_and_progress(timed: Engine, clock: Clock) -> None:
    mix(timed, clock)
    timed["play"].add("a")
    clock.advance(7_200)
    before = timed.lists()
    folded = timed.run(tallies.fold)
    assert (folded > 2, timed.lists()) == (True, before)


def test_folding_leaves_no_old_rows(timed: Engine, clock: Clock) -> None:
    for number in range(30):
        timed["work"].add(str(number))
    clock.advance(7_200)
    timed.run(tallies.fold)
    assert tally_rows(timed) == 0


def test_folding_goes_on_where_it_stopped_until_nothing_is_left(timed: Engine, clock: Clock) -> None:
    mix(timed, clock)
    clock.advance(7_200)
    before = timed["work"].info()
    while timed.run(tallies.fold, limit=2):
        pass
    assert timed["work"].info() == before


def test_young_tallies_are_not_folded(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    clock.advance(59)
    assert timed.run(tallies.fold) == 0


def test_counts_of_an_empty_list_are_zero(engine: Engine) -> None:
    engine["work"].settings(attempts=3)
    assert (engine["work"].counts(), engine["work"].progress()) == (Counts(), Progress())


def test_counts_of_failed_items_are_kept_apart(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    with timed.transaction() as tx:
        tx.execute("update rowlock_items set failed_at = 1 where key = 'a'")
        tx.execute(
            "insert into rowlock_tallies (list, gate, at, failed, failed_change) "
            "select id, 0, 0, 1, 1 from rowlock_lists"
        )
    before = timed["work"].counts(), counted(timed)
    timed["work"].retry("a")
    after = timed["work"].counts(), counted(timed)
    assert (before, after) == ((Counts(ready=1, failed=1),) * 2, (Counts(ready=2),) * 2)
