"""`--app`: applications that are served beside the service, those of others by their entry point."""

import signal
from pathlib import Path

import pytest
from tests.faces.shell import QuickShell, Shell
from tests.http.serving import Client, until
from tests.waiting import WAIT_SECONDS

THIRD = """
from pathlib import Path
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from rowlock.apps import Application

def build(engine, *, greeting="hello"):
    async def greet(request):
        engine["greeted"].add(request.path_params["name"])
        return PlainTextResponse(f"{greeting} {request.path_params['name']}")

    def register(worker):
        worker.on("greeted", lambda item: Path("worked").write_text(item.key))

    paths = Starlette(routes=[Route("/greet/{name}", greet)])
    return Application(paths, register, lambda: Path("closed").touch(), pages=("/greet/you",))
"""
BROKEN = "import nowhere_to_be_found\n"
ENTRIES = "[rowlock.apps]\nthird = third:build\nbroken = broken:build\n"


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """Where a package of somebody else is installed that has applications."""
    place = tmp_path / "site"
    (place / "third-1.0.dist-info").mkdir(parents=True)
    (place / "third-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    (place / "third-1.0.dist-info" / "entry_points.txt").write_text(ENTRIES)
    (place / "third.py").write_text(THIRD)
    (place / "broken.py").write_text(BROKEN)
    return str(place)


def test_an_installed_application_is_served_worked_and_closed(shell: Shell, installed: str) -> None:
    shell.environment["PYTHONPATH"] = f"{installed}:{shell.environment.get('PYTHONPATH', '')}"
    words = ("serve", "--port", "0", "--app", "third", "--app-option", "third.greeting=ahoy", "--no-access-log")
    process = shell.start(*words)
    assert process.stderr is not None
    first, _, _, page = (process.stderr.readline().decode() for _ in range(4))
    assert page == f"  open   {first.split()[-1]}/greet/you\n"
    client = Client(int(first.rpartition(":")[2]))
    assert client("GET", "/greet/ann").text == "ahoy ann"
    until((shell.folder / "worked").exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=WAIT_SECONDS)
    assert (shell.folder / "closed").exists()


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--app", "thrid"), "did you mean 'third'?"),
        (("--app", "broken"), "nowhere_to_be_found"),
        (("--app", "third", "--app-option", "third.colour=red"), "its options are greeting"),
        (("--app", "third", "--app-option", "greeting=red"), "must be NAME.KEY=VALUE, got 'greeting'"),
        (("--app-option", "third.greeting=red"), "add --app third"),
    ],
)
def test_what_cannot_be_served_is_refused(
    quick: QuickShell, installed: str, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], wrong: str
) -> None:
    monkeypatch.syspath_prepend(installed)
    ran = quick("serve", "--port", "0", *words)
    assert (ran.status, wrong in ran.error, "Traceback" in ran.error) == (2, True, False), ran.error
