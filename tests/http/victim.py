"""A server in a process of its own, with short patience: to be attacked, measured and killed.

python -m tests.http.victim URL [NAME=VALUE]...    prints its port when it is there; each NAME is one of its bounds

`cache_pages` is how many pages of a SQLite file each connection keeps.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
from tests.http.serving import Client
from tests.waiting import WAIT_SECONDS

ROOT = Path(__file__).parents[2]


class Victim(msgspec.Struct):
    """A server in a process of its own."""

    process: "subprocess.Popen[str]"
    client: Client

    def memory(self) -> int:
        """How many bytes it holds."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def peak(self) -> int:
        """The most that it has held since that was forgotten."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

    def forget_peak(self) -> None:
        """Count from now on."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def connections(self) -> int:
        """How many clients it has."""
        found = psutil.Process(self.process.pid).net_connections("tcp")
        return len([each for each in found if each.status == psutil.CONN_ESTABLISHED])

    def kill(self) -> None:
        """End it without a farewell."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def victim(url: str, **bounds: Any) -> Iterator[Victim]:
    """A server on that database; gone at the end of the block, gently if it is still there."""
    told = [f"{name}={value}" for name, value in bounds.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.http.victim", url, *told],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield Victim(process, Client(int(process.stdout.readline())))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(WAIT_SECONDS)
        process.stdout.close()


def tell(port: int) -> None:
    """Say that it is there."""
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


def main(url: str, *bounds: str) -> None:
    """Serve until told to stop."""
    from rowlock import Engine
    from rowlock.api.server_limits import ServerLimits
    from rowlock.http.server import Server, bind
    from rowlock.http.service import Service

    told = dict(bound.split("=") for bound in bounds)
    pages = told.pop("cache_pages", "")

    def wrap(connection: Any) -> Any:
        if pages:
            connection.query(f"pragma cache_size = {int(pages)}")
        return connection

    limits = msgspec.convert(told, ServerLimits, strict=False)
    sock = bind("127.0.0.1", 0)
    with Engine(url, patience=5.0, wrap=wrap) as engine:
        service = Service(engine, limits=limits, loopback=True)
        Server(service, started=lambda: tell(sock.getsockname()[1])).run(sockets=[sock])


if __name__ == "__main__":
    main(*sys.argv[1:])
