"""Power cuts under SQLite: what a program wrote is recorded, and made into the files that a power cut could leave.

strace records every write, truncation and flush of the program. After a power cut a file has what was flushed, and any
part of what was written since: sectors reach a disk in any order, or not at all. Names of files are taken as kept.
"""

import ast
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

SECTOR_BYTES = 512
CALLS = "pwrite64,write,ftruncate,fsync,fdatasync,unlink"
_LINE = re.compile(
    r"(?P<call>\w+)\((?:(?P<fd>\d+)<(?P<path>[^>]*)>)?(?:, )?"
    r'(?:"(?P<data>(?:[^"\\]|\\.)*)")?(?:, )?(?P<rest>[^)]*)\)\s+='
)


class Event(msgspec.Struct, frozen=True):
    """A call that changed or flushed a file, or a line that the program printed."""

    call: str
    name: str
    data: bytes = b""
    offset: int = 0


def record(program: str, folder: Path) -> list[Event]:
    """Run a Python program that gets a folder as its argument, and return what it did to files there, in order."""
    log = folder.with_suffix(".strace")
    options = ["-y", "-xx", "-s", "1000000", "-e", f"trace={CALLS}", "-o", str(log)]
    command = ["strace", *options, sys.executable, "-c", program, str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [event for line in log.read_text().splitlines() if (event := _event(line, folder)) is not None]


def _event(line: str, folder: Path) -> Event | None:
    found = _LINE.match(line)
    if found is None:
        return None
    call, data = found["call"], ast.literal_eval(f'b"{found["data"] or ""}"')
    if call == "unlink":
        path = Path(data.decode())
        return Event(call, path.name) if path.parent == folder else None
    if found["fd"] == "1":
        return Event("print", "", data)
    path = Path(ast.literal_eval(f'"{found["path"]}"'))
    if path.parent != folder:
        return None
    # Arguments after the data are its length and the offset; of a truncation the length alone.
    numbers = [int(each) for each in found["rest"].split(", ") if each.isdigit()]
    return Event(call, path.name, data, numbers[-1] if numbers else 0)


def image(events: Sequence[Event], chance: random.Random, *, flushes: bool = True) -> dict[str, bytearray]:
    """Return files as a power cut after these events leaves them; `flushes=False` is a disk that ignores them."""
    files: dict[str, bytearray] = {}
    cached: list[Event] = []
    for event in events:
        if event.call in ("pwrite64", "write", "ftruncate"):
            cached.append(event)
        elif event.call in ("fsync", "fdatasync") and flushes:
            for each in cached:
                if each.name == event.name:
                    _apply(files, each)
            cached = [each for each in cached if each.name != event.name]
        elif event.call == "unlink":
            files.pop(event.name, None)
            cached = [each for each in cached if each.name != event.name]
    for event in cached:
        for piece in _pieces(event):
            if chance.random() < 0.5:
                _apply(files, piece)
    return files


def _pieces(event: Event) -> list[Event]:
    if event.call == "ftruncate":
        return [event]
    starts = range(0, len(event.data), SECTOR_BYTES)
    return [Event("pwrite64", event.name, event.data[at : at + SECTOR_BYTES], event.offset + at) for at in starts]


def _apply(files: dict[str, bytearray], event: Event) -> None:
    content = files.setdefault(event.name, bytearray())
    if event.call == "ftruncate":
        del content[event.offset :]
        return
    content.extend(bytes(max(0, event.offset - len(content))))
    content[event.offset : event.offset + len(event.data)] = event.data
