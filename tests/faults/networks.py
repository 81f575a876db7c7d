"""Two machines and the router between them, as network namespaces that reach nothing else; the router can be cut.

The namespaces have no names: each lives as long as the process that holds it, which ends with its test.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

HOLDER = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.prctl(1, 9)
if libc.unshare(0x40000000):
    sys.exit("no namespace")
print("ready", flush=True)
sys.stdin.read()
"""
# The range that is kept for tests of networks: no real machine has such an address.
SERVER_ADDRESS, WORKER_ADDRESS = "198.18.1.2", "198.18.2.2"


class NoNetwork(Exception):
    """There can be no namespaces here; the message says why."""


class Network:
    """A server and a worker, with a router between them that forwards packets until it is cut."""

    def __init__(self) -> None:
        if os.geteuid() or shutil.which("ip") is None or shutil.which("nsenter") is None:
            raise NoNetwork("network namespaces need root, ip and nsenter")
        self._holders: list[subprocess.Popen[str]] = []
        self._server, self._router, self._worker = (self._hold() for _ in range(3))
        self._link(self._server, "198.18.1")
        self._link(self._worker, "198.18.2")
        self.heal()

    @property
    def server(self) -> list[str]:
        """What to write before a command that runs on the server's machine."""
        return _inside(self._server)

    @property
    def worker(self) -> list[str]:
        """What to write before a command that runs on the worker's machine."""
        return _inside(self._worker)

    def cut(self) -> None:
        """Drop every packet between the two from now on; neither of them learns of it."""
        self._forward("0")

    def heal(self) -> None:
        """Let packets pass again."""
        self._forward("1")

    def remove(self) -> None:
        """End the namespaces."""
        for holder in self._holders:
            holder.communicate("")

    def _hold(self) -> int:
        command = [sys.executable, "-I", "-S", "-c", HOLDER]
        holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._holders.append(holder)
        assert holder.stdout is not None
        if holder.stdout.readline() != "ready\n":
            raise NoNetwork("network namespaces are not allowed here")
        return holder.pid

    def _link(self, machine: int, network: str) -> None:
        """Connect a machine with the router: it has the address .2, and the router .1."""
        router = f"r{machine}"
        inside = _inside(self._router)
        _run(*inside, "ip", "link", "add", router, "type", "veth", "peer", "name", "eth0", "netns", str(machine))
        for prefix, device, number in ((inside, router, 1), (_inside(machine), "eth0", 2)):
            _run(*prefix, "ip", "address", "add", f"{network}.{number}/24", "dev", device)
            _run(*prefix, "ip", "link", "set", device, "up")
        _run(*_inside(machine), "ip", "link", "set", "lo", "up")
        _run(*_inside(machine), "ip", "route", "add", "default", "via", f"{network}.1")

    def _forward(self, switch: str) -> None:
        _run(*_inside(self._router), "sh", "-c", f"echo {switch} > /proc/sys/net/ipv4/ip_forward")


def _inside(process: int) -> list[str]:
    return ["nsenter", f"--net=/proc/{process}/ns/net"]


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise NoNetwork(f"{' '.join(command)}: {done.stderr.strip()}")


@contextmanager
def network() -> Iterator[Network]:
    """A network for a test."""
    made = Network()
    try:
        yield made
    finally:
        made.remove()
