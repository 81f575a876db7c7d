"""What the service takes and how long it waits: every bound in one place; `GET /v1/limits` tells them."""

from collections.abc import Mapping

import msgspec

from rowlock import claims, config, names, nesting, ranges
from rowlock.config import ConfigValue
from rowlock.errors import Invalid
from rowlock.model import MAX_DATA_BYTES

KB, MB = 1024, 1024 * 1024
MAX_NUMBER = 1_000_000
"""The highest number of connections or requests that can be configured."""


class ServerLimits(msgspec.Struct, frozen=True):
    """The bounds of a service; sizes in bytes, times in seconds."""

    key_bytes: int = names.MAX_KEY_BYTES
    name_bytes: int = names.MAX_NAME_BYTES
    data_bytes: int = MAX_DATA_BYTES
    data_levels: int = nesting.MAX_LEVELS
    """How many lists and objects may lie in each other."""
    document_bytes: int = 16 * MB
    """The largest JSON document that is read."""
    body_bytes: int = 64 * MB
    """The largest body of lines that is added as one; a stream of NDJSON may be longer."""
    buffered_bytes: int = 128 * MB
    """The documents of all requests together that are held in memory while they come, and long answers."""
    line_bytes: int = MAX_DATA_BYTES + 4 * KB
    header_bytes: int = 32 * KB
    """The first line and the headers of a request together."""
    page_items: int = 10_000
    claim_items: int = claims.MAX_CLAIM_ITEMS
    parts: int = ranges.MAX_PARTS
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
    health_connections: int = 16
    """Connections beyond these, for `/livez` and `/readyz` alone."""
    long_polls: int = 0
    """How many requests may wait for work or events at once; three quarters of `connections` if left out, at most."""
    long_polls_per_address: int = 0
    """The same for one address, of `connections_per_address`."""
    waiting_requests: int = 2_000
    """How many requests may wait for the database at once."""

    def __post_init__(self) -> None:
        for polls, connections in LONG_POLLS.items():
            most = most_long_polls(getattr(self, connections))
            msgspec.structs.force_setattr(self, polls, min(getattr(self, polls) or most, most))


LONG_POLLS = {"long_polls": "connections", "long_polls_per_address": "connections_per_address"}
"""Each bound on requests that wait, with the bound on connections that it stays below."""


def most_long_polls(connections: int) -> int:
    """How many of so many connections may wait: the rest is for short requests."""
    return max(1, connections * 3 // 4)


def configured(values: Mapping[str, ConfigValue]) -> ServerLimits:
    """The bounds of a service that is configured so; what is left out is as by default."""
    given = {name: _number(values[name]) for name in config.WHOLE_NUMBERS if name in values}
    found = ServerLimits(**given)
    for polls, connections in LONG_POLLS.items():
        most = most_long_polls(getattr(found, connections))
        if given.get(polls, 0) > most:
            what = f"{polls} must be 1 to {most}, three quarters of {connections}, got {given[polls]}"
            raise Invalid(what, f"raise {connections}, or leave {polls} out")
    return found


def _number(value: ConfigValue) -> int:
    if not (value.value.isascii() and value.value.isdigit()) or not 1 <= int(value.value) <= MAX_NUMBER:
        what = f"{value.name} must be a whole number from 1 to {MAX_NUMBER}, got {value.value!r}"
        raise Invalid(what, f"it was set by {value.origin}")
    return int(value.value)
