"""Applies a mistake to a copy of the source, and looks whether it is caught."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.seeded_bugs.bugs import SIMULATION, Bug

ROOT = Path(__file__).parents[2]
CPU_SECONDS = 60
"""A mistake must be caught within a minute."""


class NotApplied(Exception):
    """The text that the mistake replaces is not in the source, or is there several times: correct the mistake."""


def apply(bug: Bug, folder: Path) -> Path:
    """Copy the source into the folder with the mistake in it, and return where it is."""
    source = folder / "src"
    shutil.copytree(ROOT / "src", source)
    file = source / "rowlock" / bug.file
    text = file.read_text()
    if text.count(bug.old) != 1 or bug.old == bug.new:
        raise NotApplied(f"{bug.name}: {bug.file} has the text {text.count(bug.old)} times: {bug.old!r}")
    file.write_text(text.replace(bug.old, bug.new))
    return source


def caught(bug: Bug, source: Path) -> tuple[bool, str]:
    """Run what catches the mistake, and return whether it did and what it said."""
    if bug.caught_by == SIMULATION:
        command = ["-m", "tests.simulation", "--seeds", f"{bug.first}-{bug.first + bug.seeds}", "--stop"]
    else:
        command = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", bug.caught_by]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(source), str(ROOT)))}
    limited = ["prlimit", f"--cpu={CPU_SECONDS}", sys.executable, *command]
    done = subprocess.run(limited, cwd=ROOT, env=environment, capture_output=True, text=True)
    said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
    # A traceback of the simulation itself is not what catches a mistake.
    return done.returncode == 1 and "Traceback" not in done.stderr, said
