"""A browser for each module of tests, and a server on a fresh database."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.http.serving import Serving, serving
from tests.waiting import WAIT_SECONDS

from rowlock import Engine

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
AXE = (Path(__file__).parent / "vendor" / "axe-core-4.14.0.min.js").read_text()
RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
"""The rules that depend on the theme."""

OpenPage = Callable[..., Any]


# For a module, not for the session: while playwright runs, its event loop runs in this thread, and `asyncio.run` fails.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; tests are skipped where it is not installed."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[OpenPage]:
    """Open an address in a context of its own; the page notes errors and violations of the policy as `complaints`."""
    contexts = []

    def opened(url: str, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_SECONDS * 1_000)
        page.complaints = []
        page.on("console", lambda said: page.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (page.complaints.append(dialog.message), dialog.dismiss()))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(params=["sqlite", "postgres"])
def dialect(request: pytest.FixtureRequest) -> str:
    """The kinds of database that the whole story is told on."""
    return str(request.param)


@pytest.fixture
def served(engine: Engine) -> Iterator[Serving]:
    """A server on a fresh database of each kind."""
    with serving(engine) as found:
        yield found


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Serving]:
    """A server on a fresh SQLite file, for what does not depend on the database."""
    with Engine(tmp_path / "work.db") as engine, serving(engine) as found:
        yield found


def address(served: Serving, path: str = "/") -> str:
    """The address of a page."""
    return f"http://127.0.0.1:{served.client.port}{path}"


def accessibility_violations(page: Any, rules: Any = RULES) -> list[tuple[str, str]]:
    """Run axe-core in the page, where the policy of the page does not hold for it, and return what it finds."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("rules => axe.run(document, rules)", rules)
    return [(each["id"], node["html"][:120]) for each in found["violations"] for node in each["nodes"]]
