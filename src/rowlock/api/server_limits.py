"""Limits of the service on sizes, times and connections; `GET /v1/limits` shows them."""

from collections.abc import Mapping

import msgspec

from rowlock import claims, config, json_codec, key_ranges, names
from rowlock.config import ConfigValue
from rowlock.errors import Invalid
from rowlock.model import MAX_DATA_BYTES

KB, MB = 1024, 1024 * 1024
MAX_NUMBER = 1_000_000
"""The highest number of connections or requests that can be configured."""


class ServerLimits(msgspec.Struct, frozen=True):
    """Limits of a service: sizes in bytes, times in seconds."""

    key_bytes: int = names.MAX_KEY_BYTES
    name_bytes: int = names.MAX_NAME_BYTES
    data_bytes: int = MAX_DATA_BYTES
    data_levels: int = json_codec.MAX_LEVELS
    """How deep lists and objects may be nested."""
    document_bytes: int = 16 * MB
    """The largest JSON document that is read."""
    body_bytes: int = 64 * MB
    """The largest body of lines that is added as one; a stream of NDJSON may be longer."""
    buffered_bytes: int = 128 * MB
    """Memory for the documents of all requests together while they arrive, and for long responses."""
    line_bytes: int = MAX_DATA_BYTES + 4 * KB
    header_bytes: int = 32 * KB
    """The request line and the headers together."""
    page_items: int = 10_000
    claim_items: int = claims.MAX_CLAIM_ITEMS
    parts: int = key_ranges.MAX_PARTS
    batch_items: int = 10_000
    """How many items of a stream are committed together."""
    wait_seconds: float = 60.0
    """How long a claim may wait for work."""
    session_seconds: float = 24 * 3600.0
    """The longest that a session may live without a heartbeat."""
    header_seconds: float = 10.0
    """How long the request line and the headers may take to arrive."""
    body_seconds: float = 15.0
    """How long a body may arrive at less than `body_rate` bytes a second."""
    body_rate: int = 512
    idle_seconds: float = 30.0
    """How long a connection may be idle between requests."""
    reading_seconds: float = 60.0
    """How long a client may leave a response unread."""
    request_seconds: float = 30.0
    """How long the database may take over one request."""
    connections: int = 4_000
    connections_per_address: int = 256
    health_connections: int = 16
    """Connections beyond these, for `/livez` and `/readyz` alone."""
    long_polls: int = 0
    """Requests that may wait for work or events; at most, and by default, three quarters of `connections`."""
    long_polls_per_address: int = 0
    """Requests of one address that may wait; at most, and by default, three quarters of `connections_per_address`."""
    waiting_requests: int = 2_000
    """How many requests may wait for the database at once."""

    def __post_init__(self) -> None:
        for polls, connections in LONG_POLLS.items():
            most = most_long_polls(getattr(self, connections))
            msgspec.structs.force_setattr(self, polls, min(getattr(self, polls) or most, most))


LONG_POLLS = {"long_polls": "connections", "long_polls_per_address": "connections_per_address"}
"""Each limit on waiting requests, with the limit on connections that it stays below."""


def most_long_polls(connections: int) -> int:
    """Return how many of so many connections may wait; the rest is for short requests."""
    return max(1, connections * 3 // 4)


def configured(values: Mapping[str, ConfigValue]) -> ServerLimits:
    """Return the limits of a configuration; the default for what it leaves out."""
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
