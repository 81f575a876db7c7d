"""The comic shop over HTTP, on each database: every rule and edge of it."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.apps.shopping import C1, C2, Shopping, shopping
from tests.receivers import Heard, receiver, said

from rowlock import Engine, Invalid, verify
from rowlock.apps.comics import build

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5"


def stored(shop: Shopping) -> tuple[Any, ...]:
    """All that is kept anywhere."""
    return shop.get("/comics"), shop.engine.topic("comics").records(), shop.get("/pending"), shop.get("/subscriptions")


def test_a_comic_comes_into_stock_in_one_spelling(shop: Shopping) -> None:
    reply = shop.ask("POST", "/comics", {**dict(reversed(C1.items())), "bogus": True})
    assert (reply.status, reply.text) == (200, msgspec.json.encode(C1).decode() + "\n")
    [kept] = shop.get("/comics")
    assert (kept["comic"], kept["copies"]) == (C1, 1)
    shop.post("/comics", {**C1, "year": 2000})
    shop.post("/comics", C2)
    assert sorted(each["copies"] for each in shop.get("/comics")) == [1, 2]
    first, second = shop.get("/comics")
    assert shop.get(f"/comics?count=1&after={first['key']}") == [second]


def test_what_is_no_comic_or_wish_is_refused_and_nothing_is_stored(shop: Shopping) -> None:
    before = stored(shop)
    wrong: list[Any] = [{name: value for name, value in C1.items() if name != gone} for gone in C1]
    changes = [("year", "2000"), ("mint", None), ("issue", 1.5), ("year", 2000.0), ("issue", 2**31), ("series", 7)]
    wrong += [{**C1, name: value} for name, value in changes]
    wrong += [
        {**C1, "issue": True},
        {**C1, "year": -(2**31) - 1},
        {**C1, "mint": 1},
        [C1],
        "x",
        b"{",
        b"\xff",
        b"[" * 5000,
    ]
    assert {shop.refused("/comics", each).status for each in wrong} == {400}
    wishes = [
        {"year": 2000},
        {"email": 7},
        {"email": " "},
        {"email": "a", "year": None},
        {"email": "a", "year": "2000"},
    ]
    wishes += [{"email": "a", "serie": "x-men"}, {"email": "a", "price": 1}]
    wishes += [{"email": "a\nb"}, {"email": "x" * 600}, {"email": "a", "issue": 2**31}]
    assert {shop.refused("/subscriptions", each).status for each in wishes} == {400}
    assert {shop.refused("/completetransaction", each).status for each in ({"email": "a"}, {"comic": C1}, {})} == {400}
    assert stored(shop) == before
    assert shop.ask("POST", "/notifications").status == 405
    assert shop.ask("GET", "/completetransaction").headers["allow"] == "POST"


def test_a_wish_has_the_pattern_of_its_fields(shop: Shopping) -> None:
    wish = {"email": "ann", "publisher": "marvel", "year": 2000}
    kept = shop.post("/subscriptions", wish)
    assert {name: kept[name] for name in wish} == wish
    assert kept["querypattern"] == "publisher,year"
    assert shop.post("/subscriptions", {**wish, "querypattern": "zzz"}) == shop.post("/subscriptions", kept) == kept
    assert shop.post("/subscriptions", {"email": "bob"})["querypattern"] == ""
    other = shop.post("/subscriptions", {"email": "cat", "year": 2000, "publisher": "marvel"})
    assert (other["querypattern"], other["id"] != kept["id"]) == ("publisher,year", True)
    shop.post("/comics", C1)
    shop.post("/comics", C2)
    shop.run()
    assert shop.told == [
        ("ann", "ultimate spiderman"),
        ("bob", "ultimate spiderman"),
        ("bob", "x-men"),
        ("cat", "ultimate spiderman"),
    ]


def test_what_is_still_to_be_done_can_be_seen(shop: Shopping) -> None:
    shop.post("/subscriptions", {"email": "ann", "publisher": "marvel"})
    shop.post("/subscriptions", {"email": "ann", "artist": "x", "year": 1})
    shop.post("/comics", C1)
    [waiting] = shop.get("/pending")["comics"]
    assert waiting == {
        "comic": C1,
        "queries": [
            {"artist": "mark bagley", "year": 2000, "querypattern": "artist,year"},
            {"publisher": "marvel", "querypattern": "publisher"},
        ],
    }
    shop.run()
    assert shop.get("/pending") == {"comics": [], "notifications": [], "failed": 0}
    assert shop.told == [("ann", "ultimate spiderman")]


def test_only_who_asked_for_all_of_it_is_told_and_once(shop: Shopping) -> None:
    amy = {"email": "amy", "publisher": "marvel", "series": "x-men", "issue": 1, "mint": True}
    dan = {"email": "dan", "publisher": "dc", "series": "detective comics", "superhero": "batman"}
    for wish in (amy, {"email": "amy", "artist": "jim lee"}, dan, {"email": "orwell", "year": 1984}):
        shop.post("/subscriptions", wish)
    shop.post("/subscriptions", {"email": "eve", "publisher": "marvel", "series": "x-men", "year": 1992})
    for comic in (C1, C2, C2):
        shop.post("/comics", comic)
    shop.run()
    assert shop.told == [("amy", "x-men")]
    shop.post("/comics", C2)
    shop.post("/subscriptions", {"email": "late", "series": "x-men"})
    shop.run()
    assert shop.told == [("amy", "x-men")]
    shop.post("/comics", C2)
    shop.run()
    assert shop.told == [("amy", "x-men"), ("late", "x-men")]


def test_the_newest_fifty_are_shown_one_to_a_line(shop: Shopping) -> None:
    strange = 'o"brien\\ <b>日本 é é</b>'
    shop.engine.topic("comics").subscribe_many([(f"{number:02}", {}) for number in range(59)])
    shop.post("/subscriptions", {"email": strange, "series": "größer ☃"})
    for issue in range(2):
        shop.post("/comics", {**C1, "series": "größer ☃", "issue": issue})
        shop.run()
    reply = shop.ask("GET", "/notifications")
    lines = reply.text.strip().removeprefix("[").removesuffix("]").split(",\n")
    told = [msgspec.json.decode(line) for line in lines]
    assert (len(told), {each["comic"]["issue"] for each in told}) == (50, {1})
    newest = [each.subscriber for each in shop.engine.topic("comics").notifications()]
    assert [each["email"] for each in told] == newest
    assert all(line.startswith('{"comic":{"artist":"mark bagley"') for line in lines)
    found = shop.engine.topic("comics").notifications(subscriber=strange)
    assert [each.record["series"] for each in found] == ["größer ☃"] * 2


def test_a_sale_takes_a_copy_and_without_one_the_money_goes_back(shop: Shopping) -> None:
    shop.post("/subscriptions", {"email": "ann", "series": "x-men"})
    shop.post("/comics", C2)
    shop.run()
    paid = {"email": "bob", "comic": C2}
    sale = shop.post("/completetransaction", paid, idempotency_key="1")["sale"]
    assert shop.post("/completetransaction", paid, idempotency_key="1")["sale"] == sale
    assert ({"comic": C2, "email": "bob", "id": sale["id"]}, []) == (sale, shop.get("/comics"))
    answer = shop.post("/completetransaction", {"email": "ann", **C2})
    assert ("sorry" in answer["message"], answer["refund"]["email"], shop.told) == (True, "ann", [])
    assert (shop.get("/sales"), shop.get("/refunds")) == ([sale], [answer["refund"]])
    shop.post("/comics", C2)
    shop.run()
    assert shop.told == [("ann", "x-men")]


def test_a_sale_is_taken_back_once_and_the_copy_is_in_stock_again(shop: Shopping) -> None:
    shop.post("/comics", C2)
    number = shop.post("/completetransaction", {"email": "bob", "comic": C2})["sale"]["id"]
    with ThreadPoolExecutor(4) as pool:
        asked = list(pool.map(lambda _: shop.ask("POST", f"/sales/{number}/refund").status, range(4)))
    assert Counter(asked) == {200: 1, 404: 3}
    assert (shop.get("/sales"), len(shop.get("/refunds"))) == ([], 1)
    assert [each["copies"] for each in shop.get("/comics")] == [1]


def test_of_many_buyers_as_many_as_there_are_copies_get_one(shop: Shopping) -> None:
    for _ in range(3):
        shop.post("/comics", C1)
    with ThreadPoolExecutor(8) as pool:
        asked = list(pool.map(lambda who: shop.post("/completetransaction", {"email": who, **C1}), map(str, range(8))))
    assert Counter("sale" if "sale" in each else "refund" for each in asked) == {"sale": 3, "refund": 5}
    assert (shop.get("/comics"), len(shop.get("/sales")), len(shop.get("/refunds"))) == ([], 3, 5)
    assert sorted(each["sale"]["id"] for each in asked if "sale" in each) == [1, 2, 3]


def test_wishes_are_listed_and_taken_back(shop: Shopping) -> None:
    for year in (1, 2, 3):
        shop.post("/subscriptions", {"email": "ann" if year < 3 else "bob", "year": year})
    first, second, third = shop.get("/subscriptions")
    assert shop.get("/subscriptions?email=ann") == [first, second]
    assert shop.get(f"/subscriptions?count=1&after={first['id']}") == [second]
    assert shop.ask.json("DELETE", f"/subscriptions/{first['id']}") == {"deleted": 1}
    assert shop.ask("DELETE", f"/subscriptions/{first['id']}").status == 404
    assert shop.ask.json("DELETE", "/subscriptions?email=bob") == {"deleted": 1}
    assert shop.ask("DELETE", "/subscriptions").status == 400
    link = second["unsubscribe"]
    assert "ann" in shop.ask("GET", link).text
    assert shop.ask("POST", link[:-1] + ("0" if link[-1] != "0" else "1")).status == 404
    assert shop.ask("POST", "/unsubscribe/@/x").status == 404
    assert shop.get("/subscriptions") == [second]
    assert shop.ask("POST", link).status == 200
    assert (shop.get("/subscriptions"), third["email"]) == ([], "bob")


def test_people_are_told_by_request_and_who_cannot_be_is_kept(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: Counter[str] = Counter()
    lock = threading.Lock()

    def answer(heard: Heard, _: Any) -> bytes:
        with lock:
            tries[heard.json["email"]] += 1
            fails = heard.json["email"] == "never" or (heard.json["email"] == "third" and tries["third"] < 3)
        return said({}, "500 Oh" if fails else "200 OK")

    monkeypatch.setenv("SHOP_SECRET", SECRET)
    with receiver(answer) as there:
        options = {"allow": "localhost", "secret_env": "SHOP_SECRET", "attempts": "4", "backoff": "1ms..2ms"}
        with shopping(engine, notify=there.url, public="https://shop.example.org/", **options) as shop:
            for email in ("never", "third", "well"):
                shop.post("/subscriptions", {"email": email})
            shop.post("/comics", C1)
            shop.run()
            shop.post("/comics", C2)
            shop.run()
            assert tries == {"never": 8, "third": 4, "well": 2}
            assert Counter(who for who, _ in shop.told) == {"third": 2, "well": 2}
            assert shop.get("/pending")["failed"] == 2
            heard = next(each for each in there.heard if each.json["email"] == "well")
            assert verify(heard.body, heard.headers, secrets=SECRET).endswith(heard.headers["idempotency-key"])
            assert (heard.json["comic"], heard.json["unsubscribe"][:37]) == (
                C1,
                "https://shop.example.org/unsubscribe/",
            )
            keys = {each.headers["idempotency-key"] for each in there.heard}
            assert len(keys) == 6


def test_people_are_told_by_mail(engine: Engine, tmp_path: Path) -> None:
    options = {"mail": f"maildir:{tmp_path}", "sender": "shop@example.org", "public": "https://shop.example.org"}
    with shopping(engine, **options) as shop:
        shop.post("/subscriptions", {"email": "ann@example.org", "publisher": "marvel"})
        shop.post("/comics", {**C1, "series": "two\nlines"})
        shop.run()
    [mail] = [message_from_bytes(each.read_bytes(), policy=policy.default) for each in (tmp_path / "new").iterdir()]
    assert (mail["To"], mail["Subject"]) == ("ann@example.org", "two lines 1 has come in")
    assert mail["List-Unsubscribe"].startswith("<https://shop.example.org/unsubscribe/")
    assert "You asked for: publisher marvel." in mail.get_content()


def test_links_to_unsubscribe_are_open_and_the_rest_needs_a_token(shop: Shopping) -> None:
    link = shop.post("/subscriptions", {"email": "<b>ann</b>"})["unsubscribe"]
    shop.engine.tokens.create("viewer")
    page = shop.ask("GET", link)
    assert (page.status, "<b>&lt;b&gt;ann" in page.text) == (200, True)
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert shop.ask("GET", "/shop").headers["location"] == "/login?next=%2Fshop"
    assert {shop.ask("GET", path).status for path in ("/comics", "/notifications", "/subscriptions", "/sales")} == {401}


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": "0"},
        {"mail": "maildir:x"},
        {"notify": "http://a/", "mail": "smtp://b"},
        {"notify": "ftp://a/"},
        {"secret_env": "NOT_SET"},
    ],
)
def test_options_that_cannot_be_are_refused(tmp_path: Path, options: dict[str, str]) -> None:
    with Engine(str(tmp_path / "work.db")) as engine, pytest.raises(Invalid):
        build(engine, **options)
