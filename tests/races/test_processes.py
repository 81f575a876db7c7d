"""Many processes on one database: nobody is told that it is locked, and the numbers add up."""

import os
import sqlite3

import pytest
from tests.races.processes import Crowd

from rowlock import Counts, Engine, Progress

ADD = 'for each in range(25): work.add(f"{number}-{each}")'
INCREMENT = 'for each in range(25): work.increment("shared")'
FINISH = """
for each in range(25):
    key = f"own-{number}-{each}"
    work.add(key)
    work.increment(key)
    assert work.done(key) == 1
"""
OVERLAP = """
keys = [f"{each:04}" for each in range(1000)]
for each in range(3):
    work.add(keys if number % 2 else keys[::-1])
    work.increment(keys[::-1] if number % 2 else keys)
"""
REMOVE = """
keys = [f"{each:04}" for each in range(1000)]
print(work.done(keys if number % 2 else keys[::-1]), file=sys.stderr, end="")
"""
ADD_AND_DROP = """
from rowlock.errors import NoSuchList
for each in range(20):
    if number:
        added = work.add([f"{number}-{each}-{part}" for part in range(10)])
        assert added.added == 10, added
    else:
        try:
            dropped += work.drop()
        except NoSuchList:
            pass
"""
DROPPED = "dropped = 0\n" + ADD_AND_DROP + 'if not number:\n    engine["dropped"].add("number", data=dropped)\n'


def test_eight_processes_write_one_database_and_the_numbers_add_up(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add("shared")
        complaints = Crowd(url, [ADD, ADD, ADD, INCREMENT, INCREMENT, INCREMENT, FINISH, FINISH]).run()
        info = engine["work"].info()
        assert (complaints, engine["work"].show("shared").attempts) == ([""] * 8, 75)
        assert (info.counts, info.progress) == (Counts(ready=76), Progress(added=126, done=50, retried=125))


def test_adds_of_the_same_keys_in_opposite_order_do_not_fail(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add("other")
        complaints = Crowd(url, [OVERLAP] * 4).run()
        assert (complaints, engine["work"].counts().ready) == ([""] * 4, 1001)
        assert {item.attempts for item in engine["work"]} == {0, 12}


def test_each_item_is_done_by_one_process_only(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add(f"{each:04}" for each in range(1000))
        done = Crowd(url, [REMOVE] * 3).run()
        assert (sum(map(int, done)), engine["work"].progress().done) == (1000, 1000)


def test_items_added_while_a_list_is_dropped_are_on_the_old_list_or_on_a_new_one(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add("first")
        complaints = Crowd(url, [DROPPED] * 4).run()
        dropped = engine["dropped"].show("number").data
        engine["work"].add("last")  # the last drop may have come after all adds
        left = sum(1 for _ in engine["work"])
        assert (complaints, dropped + left) == ([""] * 4, 602)
        assert (counts_of(engine), orphans(engine)) == (left, 0)


def counts_of(engine: Engine) -> int:
    return sum(info.counts.total for info in engine.lists() if info.name == "work")


def orphans(engine: Engine) -> int:
    """Tallies and sums of lists that were dropped."""
    with engine.transaction() as tx:
        rows = "(select list from rowlock_tallies union all select list from rowlock_sums) as t"
        query = f"select count(*) from {rows} where list not in (select id from rowlock_lists)"
        return int(tx.execute(query).fetchone()[0])


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_an_engine_works_on_both_sides_of_a_fork(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add("before")
        child = os.fork()
        if child == 0:
            os._exit(not engine["work"].add("child").added)
        assert os.waitpid(child, 0)[1] == 0
        engine["work"].add("parent")
        assert [item.key for item in engine["work"]] == ["before", "child", "parent"]


def test_a_file_that_somebody_else_writes_is_waited_for(sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine:
        engine["work"].add("before")
        other = sqlite3.connect(sqlite_url, isolation_level=None)
        other.execute("begin immediate")
        crowd = Crowd(sqlite_url, ['work.add("waited")'] * 2)
        other.execute("commit")
        other.close()
        assert (crowd.run(), engine["work"].counts().ready) == ([""] * 2, 2)
