"""The worker of examples/typescript-worker: types made from the live server's description, checked, built and run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.house.places import ROOT
from tests.http.serving import serving
from tests.waiting import WAIT_SECONDS

from rowlock import Engine

PROJECT = ROOT / "examples" / "typescript-worker"
PACKAGES = PROJECT / "node_modules"
needed = pytest.mark.skipif(
    not (shutil.which("npm") and PACKAGES.is_dir()), reason="needs npm, and its packages by make test"
)


@needed
def test_a_typescript_worker_settles_each_item_by_the_types_of_the_live_server(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for path in PROJECT.iterdir():
        if path.suffix in (".json", ".ts") and not path.name.endswith(".d.ts"):
            shutil.copy(path, project)
    (project / "node_modules").symlink_to(PACKAGES)
    with Engine(tmp_path / "work.db") as engine:
        texts = engine["odd/texts"]
        texts.settings(keep_results=True, attempts=1)
        texts.add([{"key": "a/ü", "data": {"text": "two words"}}, {"key": "no text"}])
        with serving(engine) as served:
            address = f"http://{served.client.host}:{served.client.port}"
            for arguments in (["run", "generate"], ["run", "build"], ["start", "odd/texts"]):
                npm(project, address, arguments)
        [result], [failure] = texts.results("a/ü"), texts.failures("no text")
        assert (result.result, failure.message) == ({"words": 2}, "Error: there is no text")
        assert (texts.counts().total, texts.counts().failed, engine.sessions()) == (1, 1, [])


def npm(folder: Path, address: str, arguments: list[str]) -> None:
    """Run a script of the project as its first lines say."""
    environment = {**os.environ, "ROWLOCK_SERVER": address}
    ran = subprocess.run(
        ["npm", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
