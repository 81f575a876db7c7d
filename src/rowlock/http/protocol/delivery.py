"""What the kernel knows about the delivery of a response to a client that has closed its sending side.

Such a client may be gone or may still read. Its kernel decides: it acknowledges the response, or resets the connection.
"""

import asyncio
import fcntl
import select
import socket
import sys
import termios

MAX_WAIT_SECONDS = 5.0
"""How long to wait for either; an unreachable client gives neither."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.005, 0.1


def stopped_sending(transport: asyncio.Transport) -> bool:
    """Return whether the client has closed its sending side, even if the event loop has not read that yet; on Linux."""
    if transport.is_closing() or not hasattr(select, "POLLRDHUP"):
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
    return bool(poll.poll(0))


async def acknowledged(transport: asyncio.Transport) -> bool:
    """Wait until the client's kernel has all that was written; False if it was refused, True if that stays unknown."""
    loop, pause = asyncio.get_running_loop(), FIRST_PAUSE_SECONDS
    deadline = loop.time() + MAX_WAIT_SECONDS
    while not transport.is_closing():
        sock = transport.get_extra_info("socket")
        # In this order: after a reset nothing is left to send either.
        unsent_bytes = transport.get_write_buffer_size() + _unacknowledged_bytes(sock)
        if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return False
        if not unsent_bytes or loop.time() > deadline:
            return True
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    return False


def _unacknowledged_bytes(sock: socket.socket) -> int:
    """Return how many sent bytes the kernel still keeps; 0 where it does not tell."""
    count = bytearray(4)
    try:
        fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, count)
    except OSError:
        return 0
    return int.from_bytes(count, sys.byteorder)
