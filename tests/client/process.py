"""A server in a process of its own, which can be killed and started again at the same address."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.faces.waiting import until


class Process:
    """`rowlock serve` on a database, always at one port."""

    def __init__(self, database: str) -> None:
        self._database = database
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it if it is not there, and wait until it takes connections."""
        if self._process is not None:
            return
        command = [sys.executable, "-m", "rowlock", "-q", "serve", "--no-access-log", "--port", str(self._port)]
        environment = {**os.environ, "ROWLOCK_DATABASE_URL": self._database}
        self._process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        until(self._listens)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port)).close()
        except OSError:
            return False
        return True

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, at once or gently."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None


@contextmanager
def serving_process(database: str) -> Iterator[Process]:
    """A server that is at work, until the end of the block."""
    process = Process(database)
    process.start()
    try:
        yield process
    finally:
        process.end()
