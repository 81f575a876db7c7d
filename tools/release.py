"""Make a release: `python tools/release.py 0.2.0` sets the version, dates the changelog, builds, commits and tags.

Nothing is pushed. The last line that it prints does that, and the workflow of the tag publishes.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

VERSION_FILE, CHANGELOG = Path("src/rowlock/__init__.py"), Path("CHANGELOG.md")
UNRELEASED = "## [Unreleased]\n"
_ASSIGNMENT = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def main(arguments: list[str]) -> None:
    """Check everything first, then change files, build, commit and tag."""
    options = _parser().parse_args(arguments)
    version: str = options.version
    code, changes = VERSION_FILE.read_text(), CHANGELOG.read_text()
    _check(version, code, changes)
    VERSION_FILE.write_text(_ASSIGNMENT.sub(f'__version__ = "{version}"', code))
    CHANGELOG.write_text(_dated(changes, version, datetime.now(UTC).date().isoformat()))
    if options.build:
        _build_twice()
    _git("commit", "--all", "--message", f"release: {version}")
    _git("tag", "--annotate", f"v{version}", "--message", f"rowlock {version}")
    _say(f"rowlock {version} is committed and tagged; publish it with: git push --follow-tags")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Make a release of rowlock; nothing is pushed.")
    parser.add_argument("version", help="such as 0.2.0")
    parser.add_argument("--no-build", dest="build", action="store_false", help="do not build the wheel twice")
    return parser


def _check(version: str, code: str, changes: str) -> None:
    if not _VERSION.fullmatch(version):
        _refuse(f"the version must be three numbers, got {version!r}")
    found = _ASSIGNMENT.search(code)
    if found is None:
        _refuse(f"{VERSION_FILE} has no __version__")
    elif _numbers(version) < _numbers(found[1]) or version == found[1]:
        _refuse(f"the version must be newer than {found[1]}, got {version!r}")
    if "- " not in changes.partition(UNRELEASED)[2].partition("\n## ")[0]:
        _refuse(f"{CHANGELOG} has nothing under Unreleased")
    if _git("status", "--porcelain"):
        _refuse("there are changes that are not committed")


def _numbers(version: str) -> tuple[int, ...]:
    """Return the three numbers of a version; 0.2.0.dev0 becomes 0.2.0."""
    return tuple(map(int, version.split(".")[:3]))


def _dated(changes: str, version: str, date: str) -> str:
    return changes.replace(UNRELEASED, f"{UNRELEASED}\n## [{version}] - {date}\n", 1)


def _build_twice() -> None:
    """Build the distributions into dist/, and refuse if a second build differs."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = _built(Path("dist")), _built(Path(folder))
        if first != second:
            _refuse("two builds differ: the build is not reproducible")
    for name, digest in first.items():
        _say(f"{digest}  dist/{name}")


def _built(into: Path) -> dict[str, str]:
    _run(sys.executable, "-m", "hatchling", "build", "--clean", "-d", str(into))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(into.glob("rowlock-*"))}


def _git(*arguments: str) -> str:
    return _run("git", *arguments)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def _refuse(why: str) -> None:
    sys.exit(f"no release: {why}")


def _say(sentence: str) -> None:
    sys.stdout.write(f"{sentence}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
