"""What a comic that waits is matched against: what was subscribed to when it was committed, no more and no less."""

import asyncio
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

from tests.apps.shopping import C1, C2, Shopping, shopping

from rowlock import Engine
from rowlock.apps.comics.shop import Shop

NAMES = [name for name in C1 if name != "issue"]
PATTERNS = [names for count in (1, 2) for names in combinations(NAMES[:5], count)]


def asked(shop: Shopping) -> dict[tuple[str, int], list[str]]:
    """The patterns of the queries that wait, by comic."""
    waiting = shop.get("/pending")["comics"]
    return {
        (each["comic"]["series"], each["comic"]["issue"]): [query["querypattern"] for query in each["queries"]]
        for each in waiting
    }


def test_a_pattern_that_came_after_a_comic_is_not_asked_for_it(shop: Shopping) -> None:
    shop.post("/subscriptions", {"email": "ann", "publisher": "marvel"})
    shop.post("/comics", C1)
    shop.post("/subscriptions", {"email": "bob", "year": 2000})
    shop.post("/subscriptions", {"email": "bob"})
    assert asked(shop) == {("ultimate spiderman", 1): ["publisher"]}
    shop.post("/comics", C2)
    assert asked(shop) == {("ultimate spiderman", 1): ["publisher"], ("x-men", 1): ["", "publisher", "year"]}
    shop.run()
    assert shop.told == [("ann", "ultimate spiderman"), ("ann", "x-men"), ("bob", "x-men")]


def test_a_pattern_is_asked_although_its_first_subscriber_has_gone(shop: Shopping) -> None:
    number = shop.post("/subscriptions", {"email": "ann", "year": 2000})["id"]
    shop.ask.json("DELETE", f"/subscriptions/{number}")
    shop.post("/subscriptions", {"email": "bob", "year": 2000})
    shop.post("/comics", C1)
    assert asked(shop) == {("ultimate spiderman", 1): ["year"]}


def test_a_pattern_of_an_earlier_version_is_asked_for_every_comic(shop: Shopping) -> None:
    shop.engine["comics/patterns"].add("year")
    shop.post("/comics", C1)
    assert asked(shop) == {("ultimate spiderman", 1): ["year"]}


def test_a_record_that_lacks_a_field_is_not_asked_for_by_it(shop: Shopping) -> None:
    shop.post("/subscriptions", {"email": "ann", "year": 2000})
    shop.post("/subscriptions", {"email": "ann", "series": "x-men"})
    shop.engine.topic("comics").publish({"series": "x-men", "issue": 1})
    assert asked(shop) == {("x-men", 1): ["series"]}


def test_a_pattern_that_is_committed_with_a_comic_is_asked_for_it(shop: Shopping) -> None:
    inside = Shop(shop.engine)

    async def at_once() -> None:
        # The first is on its way by itself; those that come meanwhile are one transaction.
        before, after = ([inside.arrive({**C1, "issue": issue}) for issue in part] for part in (range(9), range(9, 12)))
        await asyncio.gather(inside.arrive(C2), *before, inside.subscribe("ann", {"year": 2000}), *after)

    asyncio.run(at_once())
    shown = {issue for (_, issue), patterns in asked(shop).items() if patterns == ["year"]}
    shop.run()
    told = {each.record["issue"] for each in shop.engine.topic("comics").notifications()}
    assert shown == told >= {9, 10, 11}


def test_what_is_shown_is_what_is_matched_whoever_comes_at_the_same_moment(url: str) -> None:
    with Engine(url) as one, Engine(url) as other, shopping(one) as first, shopping(other) as second:
        requests: list[tuple[str, dict[str, Any]]] = []
        for number, names in enumerate(PATTERNS):
            requests.append(("/comics", {**C1, "issue": number}))
            requests.append(("/subscriptions", {"email": ",".join(names), **{name: C1[name] for name in names}}))
        shops = [first, second]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda each: shops[each[0] % 2].post(*each[1]), enumerate(requests)))
        shown = {issue: sorted(patterns) for (_, issue), patterns in asked(first).items()}
        first.run()
        told: dict[int, list[str]] = defaultdict(list)
        for each in one.topic("comics").notifications(limit=1000):
            told[each.record["issue"]].append(",".join(sorted(each.subscriber.split(","))))
        assert len(shown) == len(PATTERNS)
        assert shown == {issue: sorted(told[issue]) for issue in shown}
