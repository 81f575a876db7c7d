"""Writes pictures of the dashboard to docs/assets/dashboard: a server with sample work, photographed by Chromium."""

import argparse
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from rowlock import Engine
from rowlock.apps import chat, comics
from rowlock.http import Service
from rowlock.http.server import Server, bind

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "assets" / "dashboard"
PICTURES = {
    "overview": "/",
    "list": "/lists/thumbnails",
    "items": "/lists/thumbnails/items",
    "failures": "/lists/thumbnails/failures",
    "item": "/lists/thumbnails/items/img-0003.jpg",
    "preview": "/lists/thumbnails/failures",
    "api": "/docs",
    "help": "/help",
    "drop": "/lists/thumbnails/drop",
    "sessions": "/sessions",
    "schedules": "/schedules",
    "schedule": "/schedules/nightly",
    "topics": "/topics",
    "topic": "/topics/comics",
    "counters": "/counters",
    "system": "/system",
    "search": "/search?q=crawl",
    "login": "/login",
    "rejected": "/lists/thumbnails/items?q=stat:failed",
    "missing": "/lists/nowhere",
    "shop": "/shop",
    "chats": "/chat",
    "application": "/chat",
    "chat": "/chat",
}
CLICKS = {"preview": 1, "application": 1, "chat": 2}
"""Links or buttons that lead from the path to the page, each the first in its table."""
IN_DOCS = ("overview", "list", "failures")
IN_DOCS_NARROW = ("overview",)
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
COUNT = range(240)
ERRORS = ("HTTP Error 503: Service Unavailable", "HTTP Error 404: Not Found", "timed out after 30 seconds")


def fill(engine: Engine) -> None:
    """Add sample work in every state."""
    thumbs = engine["thumbnails"]
    thumbs.settings(gates=("fetch", "resize"), concurrency=8, rate="100/1m")
    thumbs.add(
        {"key": f"img-{number:04}.jpg", "data": {"width": 640, "source": f"s3://in/{number}"}} for number in range(240)
    )
    thumbs.add((f"page-{number}.png" for number in range(40)), gate=1)
    thumbs.add(["later-1.jpg", "later-2.jpg"], due="2h")
    session = engine.session(holder="worker@render-2").open()
    claim = session.take(thumbs, limit=24)
    for number, item in enumerate(claim.items if claim else []):
        if claim is not None and number % 2:
            claim.fail(item, ERRORS[number % 3])
        elif claim is not None:
            claim.done(item)
    if claim is not None:
        claim.settle()
    session.close()
    thumbs.done([f"img-{number:04}.jpg" for number in range(100, 190)])
    engine["mail/outgoing"].add(f"message-{number}" for number in range(30))
    engine["mail/outgoing"].done([f"message-{number}" for number in range(28)])
    engine["backups"].add(["monday", "tuesday"])
    engine["backups"].pause()
    for part in ("eu", "us", "asia", "africa"):
        engine[f"crawl/{part}"].add(f"https://{part}.example/{number}" for number in range(50))
    engine.schedule("nightly").set("backups", cron="0 3 * * *")
    engine.schedule("nightly").trigger()
    engine.counter("invoices").next()


def fill_applications(request: Any, url: str) -> None:
    """Say something in a chat, and stock the shop."""

    def post(path: str, document: dict[str, Any]) -> Any:
        return request.post(path, data=document, headers={"accept": "application/json"}).json()

    applications = f"{url}/api/v1/applications"
    token = post(applications, {"name": "Support"})["token"]
    for path in ("", "/1/messages", "/1/messages"):
        post(f"{applications}/{token}/chats{path}", {"body": "My order has not arrived yet. Can you help?"})
    for number, series in enumerate(("X-Men", "Tintin in Tibet", "Watchmen"), 1):
        comic = {"series": series, "issue": number, "publisher": "Marvel", "superhero": "", "author": "A. Writer"}
        post(f"{url}/comics", {**comic, "artist": "B. Painter", "year": 1990 + number, "mint": True})
    post(f"{url}/subscriptions", {"email": "ann@example.org", "series": "X-Men"})


@contextmanager
def server(*, has_applications: bool) -> Iterator[str]:
    """A server with sample work on a port of its own."""
    with tempfile.TemporaryDirectory() as folder, Engine(Path(folder) / "work.db") as engine:
        fill(engine)
        sock, started = bind("127.0.0.1", 0), threading.Event()
        applications = {"chat": chat.build(engine), "comics": comics.build(engine)} if has_applications else {}
        service = Service(engine, loopback=True, applications=applications)
        running = Server(service, drain=0.0, started=started.set)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        started.wait()
        session = engine.session(holder="worker@render-1").open()
        claim = session.take("thumbnails", limit=12)
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        if claim is not None:
            session.close()
        running.should_exit = True
        thread.join()


def go(page: Any, url: str, name: str) -> None:
    """Open a page, by the links and buttons that lead there."""
    page.goto(url + PICTURES[name])
    for _ in range(CLICKS.get(name, 0)):
        page.locator("button[value=retry], table th a").first.click()


def main() -> None:
    """Write the pictures; with `--all` every page in both themes and 360 pixels wide, to another folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, help="a folder for pictures of every page")
    arguments = parser.parse_args()
    target: Path = arguments.all or TARGET
    target.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or sys.exit("install chromium first")
    with server(has_applications=bool(arguments.all)) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        if arguments.all:
            fill_applications(browser.new_context().request, url)
        for theme in ("light", "dark"):
            context = browser.new_context(color_scheme=theme, viewport=WIDE)
            page = context.new_page()
            for name in PICTURES if arguments.all else IN_DOCS:
                page.set_viewport_size(WIDE)
                go(page, url, name)
                page.screenshot(path=target / f"{name}-{theme}.png", full_page=bool(arguments.all))
                if arguments.all or (theme == "light" and name in IN_DOCS_NARROW):
                    page.set_viewport_size(NARROW)
                    suffix = f"360-{theme}" if arguments.all else "360"
                    page.screenshot(path=target / f"{name}-{suffix}.png", full_page=bool(arguments.all))
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
