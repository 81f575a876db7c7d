"""Our own HTTP/1.1 protocol for uvicorn's server, on httptools.

Only `rowlock.http.server` imports it, and the service runs under any ASGI server without it. Decision 20 says what it
gains, and when to delete it.
"""

import asyncio
from functools import partial
from typing import cast

from rowlock.api.server_limits import ServerLimits
from rowlock.http.protocol.http_protocol import HTTPProtocol
from rowlock.http.protocol.timeouts import Timeouts


def protocol_factory(limits: ServerLimits) -> type[asyncio.Protocol]:
    """Return what uvicorn's `http=` takes: it makes a protocol per connection, all within the limits of one server."""
    return cast("type[asyncio.Protocol]", partial(HTTPProtocol, timeouts=Timeouts(limits)))
