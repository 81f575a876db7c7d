"""Resolving: names to addresses, within a time; many who ask for one name wait for one look-up."""

import os
import socket
import threading

import msgspec

MOST_PLACES = 16


class ResolvedAddress(msgspec.Struct, frozen=True):
    """An address and port that can be connected to, as the system wrote it."""

    family: int
    socket_address: tuple[object, ...]

    @property
    def address(self) -> str:
        """The address alone."""
        return str(self.socket_address[0])


class NoSuchHost(OSError):
    """The name leads nowhere."""


class _Lookup:
    """One look-up; the system gives it as long as it likes, so it has a thread of its own."""

    def __init__(self, host: str, port: int) -> None:
        self._where = host, port
        self.answered = threading.Event()
        self.places: list[ResolvedAddress] = []

    def ask(self) -> None:
        """Ask the system."""
        try:
            found = socket.getaddrinfo(*self._where, type=socket.SOCK_STREAM)
            self.places = [ResolvedAddress(family, where) for family, _, _, _, where in found[:MOST_PLACES]]
        except (OSError, UnicodeError):  # no such name, or one that cannot be a name
            self.places = []
        finally:
            self.answered.set()


class Resolver:
    """Looks names up; a slow answer holds up nobody for longer than they are willing to wait."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._open: dict[tuple[str, int], _Lookup] = {}

    def places(self, host: str, port: int, *, seconds: float) -> list[ResolvedAddress]:
        """All places of a host; TimeoutError if the system takes longer, NoSuchHost if there is none."""
        question = self._question(host, port)
        if not question.answered.wait(seconds):
            raise TimeoutError
        if not question.places:
            raise NoSuchHost(None, "its host has no address")
        return question.places

    def _question(self, host: str, port: int) -> _Lookup:
        if self._process != os.getpid():
            self._reset()  # a fork's child has no threads of its parent: none gives the lock back or answers
        with self._lock:
            question = self._open.get((host, port))
            if question is None:
                question = self._open[host, port] = _Lookup(host, port)
                threading.Thread(target=self._ask, args=(host, port, question), daemon=True).start()
            return question

    def _ask(self, host: str, port: int, question: _Lookup) -> None:
        question.ask()
        with self._lock:
            self._open.pop((host, port), None)
