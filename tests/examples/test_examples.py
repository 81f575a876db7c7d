"""The programs in examples/ do what they say; django/, typescript-worker/ and worker.sh are tested elsewhere."""

import importlib.util
import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.house.places import ROOT
from tests.http.serving import serving_app
from tests.receivers import receiver, said
from tests.waiting import WAIT_SECONDS, until

from rowlock import Engine

EXAMPLES = ROOT / "examples"
MAX_LINES = 60


def run(name: str, folder: Path, *arguments: str) -> str:
    """What a program prints; it must end well."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [EXAMPLES / name, *arguments]
    command = command if name.endswith(".sh") else [sys.executable, *command]
    ran = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_each_example_is_short() -> None:
    programs = [path for path in EXAMPLES.rglob("*") if path.suffix in (".py", ".sh", ".ts")]
    own = [path for path in programs if "node_modules" not in path.parts and path.name != "worker.sh"]
    assert [path.name for path in own if len(path.read_text().splitlines()) > MAX_LINES] == []


def test_orders_have_their_receipts(tmp_path: Path) -> None:
    assert run("orders.py", tmp_path) == "paid 10\npaid 20\npaid 30\n"


def test_resumes_are_ranked_when_all_are_read(tmp_path: Path) -> None:
    assert run("resumes.py", tmp_path) == "eve 4\nann 3\nbob 1\n"


def test_the_report_follows_the_extract(tmp_path: Path) -> None:
    pytest.importorskip("cronsim", reason="cronsim is not installed")
    assert run("nightly.py", tmp_path, "--now") == "report of by hand\n"
    with Engine(tmp_path / "nightly.db") as engine:
        assert [schedule.list for schedule in engine.schedules()] == ["extract"]


def test_thumbnails_are_made_and_what_is_no_picture_is_failed(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    image.new("RGB", (640, 480)).save(pictures / "a.png")
    (pictures / "notes.txt").write_text("no picture")
    assert run("thumbnails.py", tmp_path, "pictures", "small") == "1 thumbnails, 1 failed\n"
    with image.open(tmp_path / "small" / "a.jpg") as small:
        assert small.size == (160, 120)


def test_files_are_downloaded(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    for name in ("a.txt", "b.txt"):
        (served / name).write_text(name)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=served)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        (tmp_path / "urls.txt").write_text(f"{address}/a.txt\n{address}/b.txt\n")
        run("downloads.sh", tmp_path, "urls.txt", "files")
        server.shutdown()
    assert {path.name: path.read_text() for path in (tmp_path / "files").iterdir()} == {
        "a.txt": "a.txt",
        "b.txt": "b.txt",
    }


def test_a_subscriber_gets_the_record_that_matches_signed(tmp_path: Path) -> None:
    with receiver(said()) as subscriber:
        run("webhooks.py", tmp_path, subscriber.url)
        [heard] = subscriber.heard
    assert heard.json["record"]["title"] == "Saga"
    assert "webhook-signature" in heard.headers


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_: Any) -> None:
        pass


def test_a_signup_is_mailed_by_the_application_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi", reason="FastAPI is not installed")
    monkeypatch.setenv("ROWLOCK_DATABASE_URL", str(tmp_path / "work.db"))
    spec = importlib.util.spec_from_file_location("fastapi_app", EXAMPLES / "fastapi_app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fastapi_app", module)
    spec.loader.exec_module(module)
    with serving_app(module.app) as ask:
        assert ask("POST", "/signup/ann@example.org").json == {"added": 1}
        assert ask("GET", "/rowlock/readyz").status == 200
        until(lambda: module.engine["mail"].counts().total == 0)
