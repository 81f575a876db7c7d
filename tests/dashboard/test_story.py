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
session = engine.session(holder="victim", expiry="6s").open()
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


def test_the_story_of_a_list(served: Serving, url: str, open_page: OpenPage) -> None:
    engine = served.service.engine
    page = open_page(address(served))
    has(page, "#lists", "There is no list yet")

    page.get_by_label("List", exact=True).fill("work")
    page.get_by_label("Items, one key to a line").fill("\n".join(f"item {number}" for number in range(12)))
    page.get_by_role("button", name="Add items").click()
    has(page, ".notice", "Added 12 items to work.")

    # Progress moves without a reload: what a script has left in the window stays.
    page.evaluate("window.mark = 'same page'")
    settle(engine, {}, limit=4)
    has(page, "#states", "33 % done")
    assert page.evaluate("window.mark") == "same page"

    victim = subprocess.Popen([sys.executable, "-c", HOLDER, url], stdout=subprocess.PIPE, env=os.environ, text=True)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "2\n"
    has(page, "#workers", "victim")
    page.locator(".brand").click()
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    victim.stdout.close()
    has(page, "#findings", "victim has sent no heartbeat")

    errors = {f"item {number}": f"Status {404 if number % 2 else 503} of {number}" for number in range(4, 12)}
    until(lambda: engine["work"].counts().ready == 8)
    while engine["work"].counts().ready:  # what a dead worker held is claimed one by one
        settle(engine, errors, limit=8)
    has(page, "#findings", "items of 'work' have failed")
    page.locator("#findings a", has_text="have failed").click()
    has(page, "#groups", "Status 404 of #")
    page.get_by_role("row", name="Status 503").get_by_role("button", name="Retry 4…").click()
    has(page, "h1", "Retry: 4 items?")
    has(page, "main", "item 10")
    page.get_by_role("button", name="Retry: 4 items of work").click()
    has(page, ".notice", "Retried: 4 items.")

    page.get_by_role("link", name="List", exact=True).click()
    while engine["work"].counts().ready:
        settle(engine, {}, limit=8)
    has(page, "#states", "67 % done")
    assert engine["work"].counts().failed == 4
    assert page.complaints == []
