"""Environments of the peers: one for each, with its packages from PyPI, made once and kept."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from bench.peers.contract import Peer

FOLDER = Path(__file__).resolve().parents[2] / ".venv" / "peers"
HARNESS = ("psutil", "psycopg[binary,pool]", "redis")
"""What the harness itself needs."""
INSTALL_SECONDS = 300
PYENV = Path.home() / ".pyenv" / "versions"


class Missing(Exception):
    """A peer cannot run here; the message says why."""


def python_of(name: str, peer: type[Peer]) -> str:
    """Return the interpreter of a peer's environment, which is made if need be."""
    if not peer.packages:
        return sys.executable
    folder, wanted = FOLDER / name, "\n".join((*HARNESS, *peer.packages))
    mark, failed = folder / "packages.txt", folder / "failed.txt"
    if failed.exists():
        raise Missing(failed.read_text())
    if not mark.exists() or mark.read_text() != wanted:
        _make(folder, peer)
        mark.write_text(wanted)
    return str(folder / "bin" / "python")


def _make(folder: Path, peer: type[Peer]) -> None:
    print(f"installing {' '.join(peer.packages)} into {folder}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([_interpreter(peer.python), "-m", "venv", str(folder)], check=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        given = {"capture_output": True, "text": True, "timeout": INSTALL_SECONDS}
        subprocess.run([*command, *HARNESS, *peer.packages], check=True, **given)  # type: ignore[call-overload]
    except subprocess.CalledProcessError as error:
        words = re.search(r"^\s*error: (.*)", error.stderr, re.IGNORECASE | re.MULTILINE)
        reason = peer.needs or (words[1] if words else "pip cannot install it")
        (folder / "failed.txt").write_text(reason)
        raise Missing(reason) from None
    except subprocess.TimeoutExpired:
        raise Missing(f"its installation took more than {INSTALL_SECONDS} s") from None


def _interpreter(least: tuple[int, int]) -> str:
    """Return this Python, or where the peer needs a newer one the oldest that will do."""
    if sys.version_info >= least:
        return sys.executable
    for minor in range(least[1], least[1] + 6):
        kept = sorted(PYENV.glob(f"{least[0]}.{minor}.*/bin/python3"))
        found = shutil.which(f"python{least[0]}.{minor}")
        if kept or (found and "shims" not in found):
            return str(kept[-1]) if kept else str(found)
    raise Missing(f"it needs Python {least[0]}.{least[1]} or newer, and none was found")
