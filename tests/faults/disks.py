"""A disk that can lose power, fill up and fail: a file system in memory, by FUSE.

After a power cut a file has what was flushed, and any part of what was written since: sectors reach a disk in any
order, or not at all. Names of files, and lengths that were set, are taken as kept. A process of its own serves the
disk; `Disk` starts it and tells it by lines of text what to do.

python -m tests.faults.disks FOLDER    serves a disk there until its standard input ends
"""

import errno
import importlib.util
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from tests.waiting import WAIT_SECONDS, until

ROOT = Path(__file__).parents[2]
SECTOR_BYTES = 512
BLOCK_BYTES = 4096


class NoDisk(Exception):
    """There can be no such disk here; the message says why."""


class Disk:
    """A disk at `folder`, which can be broken and mended."""

    def __init__(self) -> None:
        if importlib.util.find_spec("mfusepy") is None or not os.access("/dev/fuse", os.W_OK):
            raise NoDisk("a disk that fails needs FUSE: run apt-get install fuse3, and pip install mfusepy")
        self._home = Path(tempfile.mkdtemp(prefix=f"rowlock-{os.getpid()}-", dir="/tmp"))
        self.folder = self._home / "disk"
        self.folder.mkdir()
        self._home.chmod(0o755)
        command = [sys.executable, "-m", "tests.faults.disks", str(self.folder)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        until(lambda: self.folder.is_mount() or self._process.poll() is not None)
        if self._process.poll() is not None:
            raise NoDisk("FUSE does not work here")

    def flush(self) -> None:
        """Keep all that was written until now."""
        self._ask("flush")

    def cut_power(self, seed: int) -> int:
        """Forget a part of what was written and not flushed; return how many sectors."""
        return self._ask(f"cut {seed}")

    def fill(self, room: int = 0) -> None:
        """Leave room for so many bytes, and no more."""
        self._ask(f"room {room}")

    def fail(self, operation: str) -> None:
        """Let every `write` or `fsync` fail from now on."""
        self._ask(f"fail {operation}")

    def mend(self) -> int:
        """End all faults but power cuts; return how many operations failed."""
        return self._ask("mend")

    def remove(self) -> None:
        """Unmount it; what it holds is gone."""
        subprocess.run(["umount", "-l", str(self.folder)], check=False)
        self._process.communicate("", timeout=WAIT_SECONDS)
        shutil.rmtree(self._home, ignore_errors=True)

    def _ask(self, command: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def disk() -> Iterator[Disk]:
    """A disk for a test."""
    made = Disk()
    try:
        yield made
    finally:
        made.remove()


class Write(msgspec.Struct):
    """A write that was not flushed: what was there before, how long the file was, and what is there now."""

    offset: int
    before: bytes
    length: int
    data: bytes


class Node(msgspec.Struct):
    """A file or a folder."""

    mode: int
    owner: tuple[int, int] = (0, 0)
    content: bytearray = msgspec.field(default_factory=bytearray)
    unflushed: list[Write] = msgspec.field(default_factory=list)
    changed: int = 0

    def put(self, offset: int, data: bytes) -> None:
        """Write, with zeros in a gap before it."""
        self.content.extend(bytes(max(0, offset - len(self.content))))
        self.content[offset : offset + len(data)] = data

    def forget(self, chance: random.Random) -> int:
        """Lose a random part of what was not flushed; return how many sectors."""
        lost = 0
        for write in reversed(self.unflushed):
            self.content[write.offset : write.offset + len(write.data)] = write.before
            del self.content[write.length :]
        for write in self.unflushed:
            for at in range(0, len(write.data), SECTOR_BYTES):
                if chance.random() < 0.5:
                    self.put(write.offset + at, write.data[at : at + SECTOR_BYTES])
                else:
                    lost += 1
        self.unflushed = []
        return lost


class Files:
    """The operations of the file system, as FUSE calls them. Each is short, and only power cuts change other files."""

    use_ns = True

    def __init__(self) -> None:
        self._nodes = {"/": Node(stat.S_IFDIR | 0o777)}
        self._room: int | None = None
        self._failing = ""
        self._failed = 0

    def obey(self, command: str) -> int:
        """Do what a line of text says, and return a number to answer with."""
        match command.split():
            case ["flush"]:
                for node in self._nodes.values():
                    node.unflushed = []
            case ["cut", seed]:
                chance = random.Random(int(seed))
                return sum(node.forget(chance) for node in self._nodes.values())
            case ["room", count]:
                self._room = int(count)
            case ["fail", operation]:
                self._failing = operation
            case ["mend"]:
                self._room, self._failing = None, ""
        return self._failed

    def getattr(self, path: str, _: int | None = None) -> dict[str, Any]:
        node = self._node(path)
        times = dict.fromkeys(("st_atime", "st_mtime", "st_ctime"), node.changed)
        blocks = -(-len(node.content) // SECTOR_BYTES)
        owner = {"st_uid": node.owner[0], "st_gid": node.owner[1]}
        return {
            "st_mode": node.mode, "st_nlink": 1, "st_size": len(node.content), "st_blocks": blocks, **owner, **times
        }  # fmt: skip

    def readdir(self, path: str, _: int) -> list[str]:
        parent = path.rstrip("/")
        return [".", "..", *(name.rpartition("/")[2] for name in self._nodes if _parent(name) == parent)]

    def mkdir(self, path: str, mode: int) -> int:
        return self._make(path, stat.S_IFDIR | mode)

    def create(self, path: str, mode: int, *_: Any) -> int:
        return self._make(path, stat.S_IFREG | stat.S_IMODE(mode))

    def open(self, path: str, _: int) -> int:
        self._node(path)
        return 0

    def read(self, path: str, size: int, offset: int, _: int) -> bytes:
        return bytes(self._node(path).content[offset : offset + size])

    def write(self, path: str, data: bytes, offset: int, _: int) -> int:
        self._fail_if("write")
        node = self._node(path)
        end, length = offset + len(data), len(node.content)
        self._take_room(max(0, end - length))
        node.unflushed.append(Write(offset, bytes(node.content[offset:end]), length, data))
        node.put(offset, data)
        node.changed = time.time_ns()
        return len(data)

    def truncate(self, path: str, length: int, _: int | None = None) -> int:
        node = self._node(path)
        self._take_room(min(0, length - len(node.content)))
        node.unflushed = []
        del node.content[length:]
        node.content.extend(bytes(length - len(node.content)))
        return 0

    def fsync(self, path: str, *_: int) -> int:
        self._fail_if("fsync")
        self._node(path).unflushed = []
        return 0

    def unlink(self, path: str) -> int:
        self._take_room(-len(self._node(path).content))
        del self._nodes[path]
        return 0

    def rmdir(self, path: str) -> int:
        if any(_parent(name) == path for name in self._nodes):
            raise OSError(errno.ENOTEMPTY, path)
        del self._nodes[path]
        return 0

    def rename(self, old: str, new: str, _: int = 0) -> int:
        self._node(old)
        for name in [name for name in self._nodes if name == old or name.startswith(f"{old}/")]:
            self._nodes[new + name.removeprefix(old)] = self._nodes.pop(name)
        return 0

    def chmod(self, path: str, mode: int, *_: Any) -> int:
        node = self._node(path)
        node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        return 0

    def chown(self, path: str, user: int, group: int, *_: Any) -> int:
        node = self._node(path)
        kept = (2**32 - 1, -1)
        node.owner = node.owner[0] if user in kept else user, node.owner[1] if group in kept else group
        return 0

    def utimens(self, path: str, *_: Any) -> int:
        self._node(path)
        return 0

    def statfs(self, _: str) -> dict[str, int]:
        free = 2**20 if self._room is None else self._room // BLOCK_BYTES
        return {"f_bsize": BLOCK_BYTES, "f_frsize": BLOCK_BYTES, "f_blocks": 2**21, "f_bfree": free, "f_bavail": free}

    def _node(self, path: str) -> Node:
        if path not in self._nodes:
            raise OSError(errno.ENOENT, path)
        return self._nodes[path]

    def _make(self, path: str, mode: int) -> int:
        from mfusepy import fuse_get_context  # only where a disk is served

        user, group, _ = fuse_get_context()
        self._nodes[path] = Node(mode, (user, group), changed=time.time_ns())
        return 0

    def _fail_if(self, operation: str) -> None:
        if self._failing == operation:
            self._failed += 1
            raise OSError(errno.EIO, operation)

    def _take_room(self, count: int) -> None:
        if self._room is None:
            return
        if count > self._room:
            self._failed += 1
            raise OSError(errno.ENOSPC, "full")
        self._room -= count


def _parent(path: str) -> str:
    return path.rpartition("/")[0] if path != "/" else "none"


def _listen(files: Files) -> None:
    for line in sys.stdin:
        print(files.obey(line), flush=True)  # noqa: T201
    os._exit(0)  # the kernel unmounts the disk of a process that is gone


def main(folder: str) -> None:
    """Serve a disk until standard input ends."""
    from mfusepy import FUSE

    files = Files()
    threading.Thread(target=_listen, args=(files,), daemon=True).start()
    # Nothing is kept by the kernel that a power cut would change. Another user runs PostgreSQL if we are root.
    others = {"allow_other": True, "default_permissions": True} if os.geteuid() == 0 else {}
    FUSE(files, folder, foreground=True, nothreads=True, attr_timeout=0, entry_timeout=0, **others)


if __name__ == "__main__":
    main(sys.argv[1])
