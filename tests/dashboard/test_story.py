"""The whole story in a browser: from an empty database to healed failures, without a reload."""

import os
import signal
import subprocess
import sys
from typing import Any

from tests.dashboard.conftest import OpenPage, address
from tests.http.serving import Serving, until

from rowlock import Engine

HOLDER = """
import sys, time
from rowlock import Engine
engine = Engine(sys.argv[1])
session = engine.session(holder="victim", expiry="10m").open()
claim = session.take("work", limit=2)
print(len(claim.items), flush=True)
time.sleep(10_000)
"""


def has(page: Any, selector: str, text: str) -> None:
    """Wait until a part of the page holds the text."""
    page.locator(selector, has_text=text).first.wait_for()


def settle(engine: Engine, errors: dict[str, str], *, limit: int) -> None:
    """Claim some items; fail those that have an error, the others are done."""
    session = engine.session(holder="worker").open()
    claim = session.take("work", limit=limit)
    assert claim is not None
    for item in claim.items:
        if item.key in errors:
            claim.fail(item, errors[item.key])
        else:
            claim.done(item)
    claim.settle()
    session.close()


def start_a_worker_that_hangs(url: str) -> "subprocess.Popen[str]":
    """Start a process that claims two items and never settles them."""
    command = [sys.executable, "-c", HOLDER, url]
    victim = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ, text=True)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "2\n"
    victim.stdout.close()
    return victim


def test_the_story_of_a_list(served: Serving, url: str, open_page: OpenPage) -> None:
    page, engine = open_page(address(served)), served.service.engine
    add_items_by_pasting(page)
    watch_progress(page, engine)
    kill_a_worker(page, engine, url)
    until(lambda: engine["work"].counts().ready == 8)
    errors = {f"item {number}": f"HTTP Error {404 if number % 2 else 503} of {number}" for number in range(4, 12)}
    while engine["work"].counts().ready:  # what a dead worker held is claimed one by one
        settle(engine, errors, limit=8)
    retry_one_group(page)
    page.get_by_role("link", name="List", exact=True).click()
    while engine["work"].counts().ready:
        settle(engine, {}, limit=8)
    has(page, "#states", "67 % done")
    assert (engine["work"].counts().failed, page.complaints) == (4, [])


def add_items_by_pasting(page: Any) -> None:
    has(page, "#lists", "There is no list yet")
    page.get_by_label("List", exact=True).fill("work")
    page.get_by_label("Items, one key to a line").fill("\n".join(f"item {number}" for number in range(12)))
    page.get_by_role("button", name="Add items").click()
    has(page, ".notice", "Added 12 items to work.")


def watch_progress(page: Any, engine: Engine) -> None:
    """Progress moves without a reload: what a script has left in the window stays."""
    page.evaluate("window.mark = 'same page'")
    settle(engine, {}, limit=4)
    has(page, "#states", "33 % done")
    assert page.evaluate("window.mark") == "same page"


def kill_a_worker(page: Any, engine: Engine, url: str) -> None:
    """Kill a worker, let six minutes pass as the database sees it, and end the session that is shown as silent."""
    victim = start_a_worker_that_hangs(url)
    has(page, "#workers", "victim")
    page.locator(".brand").click()
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    with engine.transaction() as tx:
        tx.execute("update rowlock_sessions set expires_at = expires_at - 360000 where holder = 'victim'")
    has(page, "#findings", "victim has sent no heartbeat")
    page.get_by_role("link", name="Sessions", exact=True).click()
    page.get_by_role("button", name="End session, free 2 items").click()
    has(page, ".notice", "The session has ended: its items are free.")
    page.locator(".brand").click()


def retry_one_group(page: Any) -> None:
    page.locator("#findings a", has_text="items of 'work' have failed").click()
    has(page, "#groups", "HTTP Error 404 of #")
    page.get_by_role("row", name="HTTP Error 503").get_by_role("button", name="Retry 4…").click()
    has(page, "h1", "Retry: 4 items?")
    has(page, "main", "item 10")
    page.get_by_role("button", name="Retry: 4 items of work").click()
    has(page, ".notice", "Retried: 4 items.")
