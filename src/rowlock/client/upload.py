"""Uploads: items that were checked here are sent as lines, from a file if they are many; memory stays bounded."""

from collections.abc import Iterable, Iterator
from typing import IO, Any

import msgspec

from rowlock import items
from rowlock.api.items import ADD_ITEMS, ItemToAdd, due_text
from rowlock.api.operation import ApiRequest
from rowlock.api.service import LIMITS
from rowlock.client.caller import Caller
from rowlock.client.transport import Transport
from rowlock.errors import TooLarge
from rowlock.item_input import Batch
from rowlock.model import DEFAULT_PRIORITY, Added

PIECE_BYTES = 256 * 1024
MEMORY_BYTES = 4 * 1024 * 1024
UNKEYED_ITEMS = 500

_PLAIN = {"gate": None, "priority": DEFAULT_PRIORITY, "delay": 0, "data": None}
_encode = msgspec.json.Encoder().encode


class Part:
    """What is sent in one request: lines, in memory or on disk."""

    def __init__(self) -> None:
        from tempfile import SpooledTemporaryFile  # heavy, and only who adds needs it

        self.file: IO[bytes] = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115
        self.count = 0
        self.size = 0
        self.trace: str | None = None

    def write(self, lines: bytes, count: int, *, trace: str | None) -> None:
        """Some more items; all of one add have the same trace."""
        self.file.write(lines)
        self.count += count
        self.size += len(lines)
        self.trace = trace

    def pieces(self) -> Iterator[bytes]:
        """All of it from the beginning, as often as it must be sent."""
        self.file.seek(0)
        while piece := self.file.read(PIECE_BYTES):
            yield piece


def add(caller: Caller, name: str, batches: Iterable[Batch], *, strict: bool = False) -> Added:
    """Add new items to the list: all or nothing, as far as the server takes so much at once.

    More is sent part by part, each added as a whole and once; with `strict` it is refused.
    """
    transport = caller.transport
    parts = _parts(transport, batches)
    added = existing = 0
    for part in [_only(transport, parts)] if strict else parts:
        with part.file:
            landed = _sent(transport, name, part, strict=strict)
        added, existing = added + landed.added, existing + landed.existing
    return Added(added, existing)


def _only(transport: Transport, parts: Iterator[Part]) -> Part:
    only, *more = parts
    if more:
        for part in (only, *more):
            part.file.close()
        what = f"more than {transport.server} takes at once cannot be added strictly"
        raise TooLarge(what, "leave strict out, or add where the database is")
    return only


def _sent(transport: Transport, name: str, part: Part, *, strict: bool) -> Added:
    # A few that are asked for again are there already, which does no harm and costs the server no memory of it.
    keyed = strict or part.count > UNKEYED_ITEMS
    request = ApiRequest((name,), {"strict": strict or None}, trace=part.trace)
    added: Added = transport.send(ADD_ITEMS, request, pieces=part.pieces, size=part.size, keyed=keyed)
    return added


def _parts(transport: Transport, batches: Iterable[Batch]) -> Iterator[Part]:
    part, most = Part(), MEMORY_BYTES
    for batch in batches:
        lines, trace = _lines(batch)
        if part.size + len(lines) > most == MEMORY_BYTES:
            most = max(MEMORY_BYTES, transport.send(LIMITS, ApiRequest(())).body_bytes)
        if part.size + len(lines) > most:
            yield part
            part = Part()
        part.write(lines, batch.count, trace=trace)
    yield part


def _lines(batch: Batch) -> tuple[bytes, str | None]:
    """A batch as a server reads it, a key to a line or an item with what differs from the defaults; and its trace."""
    if batch.same is not None and batch.same == {**_PLAIN, "trace": batch.same["trace"]}:
        return b"".join(_encode(key) + b"\n" for key in msgspec.json.decode(batch.json)), batch.same["trace"]
    rows = batch.rows()
    return b"".join(_encode(_item(row)) + b"\n" for row in rows), rows[0]["trace"] if rows else None


def _item(row: dict[str, Any]) -> ItemToAdd:
    data = None if row["data"] is None else msgspec.Raw(row["data"].encode())
    return ItemToAdd(row["key"], data, due_text(row["delay"], row.get("due")), row["gate"], row["priority"])


VERBS = {items.add: add}
