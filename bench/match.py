"""Standing queries: the matcher in the database, the copy in memory, and one query for each pattern, in one run.

    python -m bench.match [--size 100000] [--records 200] [--passes 15] [--database sqlite,postgres] [--part match,tell]

Ten fields, skewed values, one to five predicates; about 0.13 % of all subscriptions fit a record. Of each record the
best of the passes counts, and of those the mean: others on this machine disturb one pass, seldom all. Every answer is
compared with those of the others.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec
import psycopg

from bench._children import measured
from bench._comics import FIELDS, Comics
from bench._patterns import SCHEMES
from bench._places import PLACES, Fresh
from rowlock import Engine, Worker, topics
from rowlock.engine import Topic
from rowlock.topics import commit_order, maintenance, matching, predicates, records, subscription_index
from rowlock.topics.in_memory_matcher import InMemoryMatcher

BATCH = 10_000
EVERYTHING = 10_000_000
RATIO = 7
TELLING_MEGABYTES = 150
GOALS = {("sqlite", 100_000): 300, ("sqlite", 1_000_000): 2_000, ("postgres", 100_000): 500}
"""Microseconds for a record, by database and number of subscriptions."""
IN_MEMORY = 300

Match = Callable[[dict[str, Any]], list[Any]]


def load(topic: Topic, size: int) -> float:
    """Subscribe; microseconds for each."""
    entries, spent = Comics().subscriptions(size), 0.0
    while batch := list(islice(entries, BATCH)):
        begin = time.perf_counter()
        topic.subscribe_many(batch)
        spent += time.perf_counter() - begin
    return 1e6 * spent / size


def settle(engine: Engine) -> float:
    """What upkeep and the server's own housekeeping do in the minutes after such a crowd; microseconds for each."""
    begin, chance, rounds = time.perf_counter(), random.Random(1), 0
    engine.run(maintenance.take_sample, engine.read(topics.find, "comics"), chance=chance)
    while _left(engine):
        engine.run(maintenance.reindex_some, chance=chance)
        rounds += 1
        if rounds % 20 == 0:
            engine.run(maintenance.delete_ended, limit=BATCH)
    while engine.run(maintenance.delete_ended, limit=BATCH):
        pass
    spent = time.perf_counter() - begin
    if engine.database.address.dialect == "postgres":
        with psycopg.connect(engine.database.address.target, autocommit=True) as connection:
            connection.execute("vacuum analyze")
    return 1e6 * spent / engine.topic("comics").count()


def _left(engine: Engine) -> bool:
    [columns] = engine.read(lambda tx: tx.rows("topics/page_with_statistics", after="", limit=1))
    known = msgspec.json.decode(columns[5], type=subscription_index.TopicStatistics)
    return bool(columns[6] < known.upto)


def best_of(match: Match, each: list[dict[str, Any]], passes: int) -> tuple[float, float]:
    """Microseconds for a record: the mean and the 99th percentile of the best that each took."""
    best = [float("inf")] * len(each)
    for _ in range(passes):
        for place, record in enumerate(each):
            begin = time.perf_counter()
            match(record)
            best[place] = min(best[place], time.perf_counter() - begin)
    return 1e6 * sum(best) / len(best), 1e6 * sorted(best)[int(0.99 * len(best))]


def durable(engine: Engine, topic: Topic) -> Match:
    row = engine.read(topics.find, topic.name)
    return lambda record: engine.read(matching.match, row, record, limit=EVERYTHING)[0]


def in_memory(engine: Engine, topic: Topic) -> Match:
    matcher = InMemoryMatcher(topic.name)
    seq = engine.run(commit_order.settled)
    return lambda record: engine.read(matcher.match, record, seq=seq) or []


def names(engine: Engine, numbers: list[int]) -> list[str]:
    """Whose subscriptions these are."""
    found = engine.read(matching.subscriptions.by_ids, numbers)
    return sorted(each.subscriber for each in found)


def compare(database: str, fresh: Fresh, *, size: int, count: int, passes: int) -> bool:
    with Engine(fresh()) as engine:
        topic = engine.topic("comics")
        topic.define(FIELDS)
        print(f"  subscribing, {BATCH:,} at once     {load(topic, size):>9,.0f} µs each", flush=True)
        print(f"  reindexing, by upkeep           {settle(engine):>9,.0f} µs each", flush=True)
        single = one_by_one(topic)
        print(f"  subscribing, one at a time     {single:>9,.0f} µs each")
        each = [predicates.checked(FIELDS, record) for record in Comics().records(count)]
        ways = {"database": durable(engine, topic), "memory": in_memory(engine, topic)}
        begin = time.perf_counter()
        ways["memory"](each[0])
        print(f"  reading into memory            {time.perf_counter() - begin:>9,.1f} s", flush=True)
        answers = [sorted(ways["database"](record)) for record in each]
        assert answers == [sorted(ways["memory"](record)) for record in each]
        hits = sum(map(len, answers)) / count
        print(f"  hits for a record              {hits:>9,.0f}", flush=True)
        took = {name: told(name, best_of(way, each, passes)) for name, way in ways.items()}
        few = each[: max(1, count // 5)]
        patterned = SCHEMES[database](fresh(), Comics().subscriptions(size))
        ours = [names(engine, numbers) for numbers in answers[: len(few)]]
        theirs = [sorted(name for name in set(patterned(record))) for record in few]
        assert [sorted(set(found) - late()) for found in ours] == theirs
        took["patterns"] = told("patterns", best_of(patterned, few, max(1, passes // 2)))
        same = best_of(ways["database"], few, passes)[0]
    return report(took, same, goal=GOALS.get((database, size)), size=size)


def late() -> set[str]:
    """Who came after the crowd, one at a time."""
    return {name for name, _ in singles()}


def singles() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, asked in Comics().subscriptions(200, seed=99):
        yield f"late-{name}", asked


def one_by_one(topic: Topic) -> float:
    spent = []
    for name, asked in singles():
        begin = time.perf_counter()
        topic.subscribe(name, asked)
        spent.append(time.perf_counter() - begin)
    return 1e6 * sorted(spent)[len(spent) // 2]


def told(name: str, took: tuple[float, float]) -> tuple[float, float]:
    """At once: with a million, what comes next takes many minutes."""
    print(f"  {name:<22} mean    {took[0]:>9,.0f} µs   p99 {took[1]:>9,.0f} µs", flush=True)
    return took


def report(took: dict[str, tuple[float, float]], same: float, *, goal: int | None, size: int) -> bool:
    ratio = took["patterns"][0] / same
    passed = [line("patterns against database", f"{ratio:.1f}", ratio >= RATIO, f"≥ {RATIO}")]
    if goal:
        passed.append(line("database", f"{took['database'][0]:,.0f} µs", took["database"][0] <= goal, f"≤ {goal:,} µs"))
    if size >= 1_000_000:
        fast = took["memory"][0]
        passed.append(line("memory", f"{fast:,.0f} µs", fast <= IN_MEMORY, f"≤ {IN_MEMORY} µs"))
    return all(passed)


def line(what: str, found: str, reached: bool, wanted: str) -> bool:
    print(f"  {what:<30} {found:>12}   {'pass' if reached else 'MISS'} ({wanted})", flush=True)
    return reached


def tell(url: str, size: int) -> tuple[float, float]:
    """Match a record with this many subscribers and tell them all; seconds for each of the two."""
    with Engine(url) as engine:
        crowd = engine.topic("crowd")
        number = crowd.publish({"issue": 1})
        begin = time.perf_counter()
        while not engine.run(records.match_page, number):
            pass
        matched = time.perf_counter() - begin
        worker = Worker(engine)
        crowd.deliver(worker, lambda _: None, timeout=None)
        begin = time.perf_counter()
        worker.run(until="done", signals=False)
        assert engine[f"topics/crowd/{number}"].progress().done == size + 1
        return matched, time.perf_counter() - begin


def crowd(url: str, size: int) -> None:
    """Subscribers to everything, who are not measured."""
    with Engine(url) as engine:
        topic = engine.topic("crowd")
        topic.define(issue="integer")
        chance = random.Random(size)
        for start in range(0, size, BATCH):
            batch = range(start, min(size, start + BATCH))
            topic.subscribe_many([(f"{chance.getrandbits(32):08x}-{number}@example.org", {}) for number in batch])


def tell_all(fresh: Fresh, *, size: int) -> bool:
    url = fresh()
    measured(crowd, url, size)
    run = measured(tell, url, size)
    matched, told = run.answer
    print(f"  matching one record            {size / matched:>9,.0f} subscribers/s")
    print(f"  telling them                   {size / told:>9,.0f} subscribers/s")
    return line("memory while doing so", f"{run.megabytes:,.0f} MB", run.megabytes < TELLING_MEGABYTES, "bounded")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--passes", type=int, default=15)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--part", default="match,tell")
    asked = parser.parse_args()
    reached = []
    for database in asked.database.split(","):
        with PLACES[database]() as fresh:
            if "match" in asked.part:
                print(f"{database}, {asked.size:,} subscriptions, {asked.records} records", flush=True)
                sizes: dict[str, int] = {"size": asked.size, "count": asked.records, "passes": asked.passes}
                reached.append(compare(database, fresh, **sizes))
            if "tell" in asked.part:
                print(f"{database}, {asked.size:,} subscribers of one record", flush=True)
                reached.append(tell_all(fresh, size=asked.size))
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
