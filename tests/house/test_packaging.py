"""What is installed is small, complete, and says what it is."""

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml
from tests.house.places import ROOT, SOURCE

# Each of them is larger than all that `rowlock up` needs, or is needed by few.
LARGE = {"numpy", "redis", "zstandard", "matplotlib", "pyarrow"}


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]  # type: ignore[no-any-return]


def packages(extra: str) -> set[str]:
    """The packages that an extra installs, also by way of other extras."""
    found: set[str] = set()
    for wanted in project()["optional-dependencies"][extra]:
        if own := re.match(r"rowlock\[(.*)\]", wanted):
            found |= {package for name in own[1].split(",") for package in packages(name)}
        else:
            found.add(re.split(r"[^\w.-]", wanted)[0])
    return found


def test_setup_installs_nothing_large() -> None:
    assert "$(INSTALL) -e '.[up]'" in (ROOT / "Makefile").read_text()
    assert packages("up") & LARGE == set()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of this tree."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))


def build(source: Path, into: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(into)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return into


def wheel(folder: Path) -> ZipFile:
    [path] = folder.glob("*.whl")
    return ZipFile(path)


def test_the_wheel_has_every_file_of_the_package_and_no_other(built: Path) -> None:
    kept = {path.relative_to(ROOT / "src").as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    kept = {path for path in kept if "__pycache__" not in path}
    packed = {name for name in wheel(built).namelist() if ".dist-info/" not in name}
    assert packed == kept


def test_links_of_the_description_are_absolute(built: Path) -> None:
    [name] = [name for name in wheel(built).namelist() if name.endswith("/METADATA")]
    text = wheel(built).read(name).decode()
    links = re.findall(r"\]\(([^)]+)\)|\bsrc=\"([^\"]+)", text)
    assert links
    assert [link for pair in links for link in pair if link and not link.startswith(("https://", "#"))] == []


def test_the_metadata_names_every_python_that_is_tested(built: Path) -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    named = [each.rpartition(" ")[2] for each in project()["classifiers"] if "Python :: 3." in each]
    assert named == tested


def test_the_source_distribution_can_be_tested_and_built_again(built: Path, tmp_path: Path) -> None:
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    wanted = ["tests/conftest.py", "examples/worker.sh", "Makefile", "CHANGELOG.md", "docs/index.md", "tools/groups.py"]
    assert [name for name in wanted if not (source / name).exists()] == []
    again = build(source, tmp_path / "dist")
    [first], [second] = built.glob("*.whl"), again.glob("*.whl")
    assert first.read_bytes() == second.read_bytes()


def test_workflows_call_targets_that_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    workflows = sorted((ROOT / ".github").rglob("*.yml"))
    called = {name for path in workflows for name in re.findall(r"\bmake ([\w-]+)", path.read_text())}
    assert all(yaml.safe_load(path.read_text()) for path in workflows)
    assert called <= targets
    assert called
