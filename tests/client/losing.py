"""Something between a client and its server that loses answers: what was asked is done, and nobody hears of it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rowlock import Client


class Losing:
    """Passes on requests one at a time, and as many answers as it is not told to lose."""

    def __init__(self, listening: socket.socket, port: int) -> None:
        self._listening = listening
        self._port = port
        self.lose = 0
        self.lost: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        """Where to ask."""
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(connection,), daemon=True).start()

    def _pass_on(self, connection: socket.socket) -> None:
        with connection, socket.create_connection(("127.0.0.1", self._port)) as server:
            while request := _message(connection):
                server.sendall(request)
                answer = _message(server)
                if self.lose:
                    self.lose -= 1
                    self.lost.append(request.partition(b" HTTP")[0].decode())
                    return
                connection.sendall(answer)


def _message(connection: socket.socket) -> bytes:
    """One request or answer, whole; nothing if there is no more."""
    text = b""
    while b"\r\n\r\n" not in text:
        piece = connection.recv(65536)
        if not piece:
            return b""
        text += piece
    head, _, _ = text.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    size = len(head) + 4 + (int(lengths[0].partition(b":")[2]) if lengths else 0)
    while len(text) < size:
        text += connection.recv(65536)
    return text


@contextmanager
def losing(port: int) -> Iterator[tuple[Losing, Client]]:
    """What loses answers of the server at that port, and a client that goes through it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        between = Losing(listening, port)
        with Client(between.url) as client:
            client.lists()  # it has been there: what is lost now will come back
            yield between, client
        listening.shutdown(socket.SHUT_RDWR)
