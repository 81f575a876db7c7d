"""Receivers: servers on this machine that hear what is sent and answer as a test says, well or badly."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from tests.waiting import WAIT_SECONDS

CERTIFICATE = Path(__file__).parent / "localhost.pem"
"""A certificate of our own for localhost, with its key: of no use to anybody else."""


class Heard(msgspec.Struct, frozen=True):
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body, read as JSON."""
        return msgspec.json.decode(self.body)


Answer = Callable[[Heard, socket.socket], bytes | None]
"""What to say; None if all has been said, and the connection is to be closed."""


def said(answer: Any = None, status: str = "200 OK", **headers: str) -> bytes:
    """An answer as a good server writes it; JSON unless bytes are given."""
    body = answer if isinstance(answer, bytes) else msgspec.json.encode(answer)
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Receiver:
    """A server that answers each request as it is told to; every connection has a thread of its own."""

    def __init__(self, answer: Answer | bytes, *, secure: bool = False) -> None:
        self._answer = (lambda *_: answer) if isinstance(answer, bytes) else answer
        self._tls = _tls() if secure else None
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._open: list[socket.socket] = []
        self.port = self._listening.getsockname()[1]
        self.heard: list[Heard] = []
        self.connections = 0
        self.url = f"http{'s' if secure else ''}://localhost:{self.port}/work"
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # closed: the test is over
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with suppress(OSError, ValueError), plain:
            connection = plain if self._tls is None else self._tls.wrap_socket(plain, server_side=True)
            with connection, connection.makefile("rb") as reading:
                while (heard := _heard(reading)) is not None:
                    self.heard.append(heard)
                    answer = self._answer(heard, connection)
                    if answer is None:
                        return
                    connection.sendall(answer)

    def close(self) -> None:
        """Hang up on everybody."""
        for each in (self._listening, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._thread.join(WAIT_SECONDS)


def _heard(reading: Any) -> Heard | None:
    line = reading.readline().decode().split()
    if not line:
        return None
    headers = {}
    while field := reading.readline().decode("latin-1").rstrip("\r\n"):
        name, _, value = field.partition(":")
        headers[name.lower()] = value.strip()
    return Heard(line[0], line[1], headers, reading.read(int(headers.get("content-length", "0"))))


def _tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


@contextmanager
def receiver(answer: Answer | bytes, *, secure: bool = False) -> Iterator[Receiver]:
    """A receiver for as long as the block lasts."""
    server = Receiver(answer, secure=secure)
    try:
        yield server
    finally:
        server.close()


def free_port() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
