"""What the service takes and how long it waits: every bound in one place; `GET /v1/limits` tells them."""

import msgspec

from rowlock import claims, names, ranges
from rowlock.model import DATA_BYTES

KB, MB = 1024, 1024 * 1024


class Limits(msgspec.Struct, frozen=True):
    """The bounds of a service; sizes in bytes, times in seconds."""

    key_bytes: int = names.KEY_BYTES
    name_bytes: int = names.NAME_BYTES
    data_bytes: int = DATA_BYTES
    document_bytes: int = 16 * MB
    """The largest JSON document that is read."""
    body_bytes: int = 64 * MB
    """The largest body of lines that is added as one; a stream of NDJSON may be longer."""
    buffered_bytes: int = 128 * MB
    """The documents of all requests together that are held in memory while they come, and long answers."""
    line_bytes: int = DATA_BYTES + 4 * KB
    header_bytes: int = 32 * KB
    """The first line and the headers of a request together."""
    page_items: int = 10_000
    claim_items: int = claims.LARGEST
    parts: int = ranges.MOST
    batch_items: int = 10_000
    """How many items of a stream are committed together."""
    wait_seconds: float = 60.0
    """How long a claim may wait for work."""
    session_seconds: float = 24 * 3600.0
    """The longest that a session may live without a beat."""
    header_seconds: float = 10.0
    """How long the first line and the headers of a request may take to arrive."""
    body_seconds: float = 15.0
    """How long a body may bring fewer than `body_rate` bytes a second."""
    body_rate: int = 512
    idle_seconds: float = 30.0
    """How long a connection may lie idle between requests."""
    reading_seconds: float = 60.0
    """How long a client may leave an answer unread."""
    request_seconds: float = 30.0
    """How long the database may take over one request."""
    connections: int = 4_000
    connections_per_address: int = 256
    waiting_requests: int = 2_000
    """How many requests may wait for the database at once."""
