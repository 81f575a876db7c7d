"""The secret that signs links to unsubscribe, and the links: who can read them, and who cannot."""

import threading
from collections.abc import Iterator
from email import message_from_bytes, policy
from itertools import product
from pathlib import Path
from urllib.parse import quote

from starlette.testclient import TestClient
from tests.apps.shopping import C1, Shopping, shopping

from rowlock import Engine, Item, Worker
from rowlock.apps.comics import build
from rowlock.apps.comics.unsubscribe_links import unsubscribe_secret
from rowlock.http.routes import ROUTES

EMAIL = "ann@example.org"
OWN = ("/comics", "/subscriptions", "/notifications", "/sales", "/refunds", "/pending", "/shop", "/shop.json")
NAMES = {
    "list": [
        "comics/secrets",
        "comics_secrets",
        "comics/patterns",
        "comics/stock",
        "topics/comics/1",
    ],
    "key": ["unsubscribe", "match", EMAIL],
    "counter": ["comics/schema", "comics/stock"],
    "schedule": ["comics"],
    "topic": ["comics"],
    "claim": ["1"],
}


def readable() -> Iterator[str]:
    """Every address of the service and of the shop that can be read to its end, for every name worth trying."""
    yield from OWN
    for route in ROUTES:
        if route.method == "GET" and route.media_type != "text/event-stream":
            for names in product(*(NAMES[parameter] for parameter in route.parameters)):
                given = dict(zip(route.parameters, names, strict=True))
                yield route.path.format(**{name: quote(value, safe="") for name, value in given.items()})


def sends(shop: Shopping, role: str) -> dict[str, str]:
    """The header that somebody of that role sends."""
    return {"authorization": f"Bearer {shop.engine.tokens.create(role).text}", "accept": "application/json"}


def test_a_viewer_finds_the_secret_and_the_links_nowhere(shop: Shopping) -> None:
    link = shop.post("/subscriptions", {"email": EMAIL})["unsubscribe"]
    shop.post("/comics", C1)
    secret, proof = unsubscribe_secret(shop.engine), link.rpartition("/")[2]
    viewer = sends(shop, "viewer")
    before = {path: shop.ask("GET", path, **viewer) for path in readable()}
    shop.run()
    after = {path: shop.ask("GET", path, **viewer) for path in readable()}
    assert sum(reply.status == 200 for reply in before.values()) > len(OWN) * 3
    assert [path for path, reply in before.items() if secret in reply.text or proof in reply.text] == []
    assert [path for path, reply in after.items() if secret in reply.text or proof in reply.text] == []


def test_only_who_may_delete_wishes_is_shown_links(shop: Shopping) -> None:
    link = shop.post("/subscriptions", {"email": EMAIL})["unsubscribe"]
    shown = {}
    for role in ("viewer", "worker", "operator", "admin"):
        headers = sends(shop, role)
        [wish] = shop.ask("GET", "/subscriptions", **headers).json
        refused = shop.ask("DELETE", "/subscriptions?email=nobody", **headers).status == 403
        shown[role] = wish.pop("unsubscribe", None)
        assert wish == {"email": EMAIL, "id": 1, "querypattern": ""}
        assert refused == (shown[role] is None)
    assert shown == {"viewer": None, "worker": link, "operator": link, "admin": link}


def test_a_shop_that_is_served_without_the_service_shows_no_links(engine: Engine) -> None:
    application = build(engine)
    engine.topic("comics").subscribe(EMAIL)
    [wish] = TestClient(application.asgi).get("/subscriptions").json()
    assert wish == {"email": EMAIL, "id": 1, "querypattern": ""}


def test_no_worker_takes_the_secret_away(shop: Shopping) -> None:
    link = shop.post("/subscriptions", {"email": EMAIL})["unsubscribe"]
    taken: list[Item] = []
    worker = Worker(shop.engine)
    worker.on("comics/*", taken.append)
    worker.run(until="done", signals=False)
    assert [item.list for item in taken] == ["comics/patterns"]
    with shopping(shop.engine) as again:
        assert again.ask("POST", link).status == 200


def test_servers_that_start_at_once_have_one_secret(url: str) -> None:
    assert len(set(secrets_of_four(url))) == 1


def test_servers_that_start_at_once_have_one_secret_where_transactions_are_serialisable(postgres_url: str) -> None:
    assert len(set(secrets_of_four(f"{postgres_url}&isolation=serializable"))) == 1


def secrets_of_four(url: str) -> list[str]:
    """What four servers find that start at once."""
    together = threading.Barrier(4)
    found: list[str] = []

    def start() -> None:
        with Engine(url) as engine:
            together.wait()
            found.append(unsubscribe_secret(engine))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    return found


def test_the_link_in_a_mail_unsubscribes_without_a_token(engine: Engine, tmp_path: Path) -> None:
    options = {"mail": f"maildir:{tmp_path}", "sender": "shop@example.org", "public": "https://shop.example.org"}
    with shopping(engine, **options) as shop:
        shop.post("/subscriptions", {"email": EMAIL})
        shop.post("/comics", C1)
        shop.run()
    [mail] = [message_from_bytes(each.read_bytes(), policy=policy.default) for each in (tmp_path / "new").iterdir()]
    link = mail["List-Unsubscribe"].strip("<>").removeprefix("https://shop.example.org")
    with shopping(engine, **options) as again:
        engine.tokens.create("viewer")
        assert again.ask("GET", "/subscriptions").status == 401
        assert again.ask("POST", link).status == 200
    assert engine.topic("comics").count() == 0
