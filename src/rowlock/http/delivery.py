"""Delivery: whether a client that has closed its sending side took an answer, as the kernel tells.

The rest of the protocol knows only transports; this asks the socket below. A client that has closed its sending side
may be gone, or may still read. Its machine decides: it acknowledges what we write, or answers it with a reset.
"""

import asyncio
import fcntl
import select
import socket
import sys
import termios
from typing import Any

ARRIVAL_SECONDS = 5.0
"""How long to wait for either; a machine that cannot be reached gives neither."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.005, 0.1


def stopped_sending(transport: asyncio.Transport) -> bool:
    """Whether the client has closed its sending side, also if the event loop has not seen that yet; Linux tells."""
    if transport.is_closing() or not hasattr(select, "POLLRDHUP"):
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
    return bool(poll.poll(0))


async def acknowledged(transport: asyncio.Transport) -> bool:
    """Wait until the client's machine has taken all that was written; False if it refused it.

    True also if that cannot be found out in time.
    """
    loop, pause = asyncio.get_running_loop(), FIRST_PAUSE_SECONDS
    until = loop.time() + ARRIVAL_SECONDS
    while not transport.is_closing():
        sock = transport.get_extra_info("socket")
        # In this order: what is refused leaves nothing to be sent either.
        waiting = transport.get_write_buffer_size() + _unacknowledged_bytes(sock)
        if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return False
        if not waiting or loop.time() > until:
            return True
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    return False


def _unacknowledged_bytes(sock: Any) -> int:
    """How much the kernel keeps of what was sent; 0 where it does not tell."""
    count = bytearray(4)
    try:
        fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, count)
    except OSError:
        return 0
    return int.from_bytes(count, sys.byteorder)
