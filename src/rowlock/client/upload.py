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
    """The lines of one request, in memory or on disk."""

    def __init__(self) -> None:
        from tempfile import SpooledTemporaryFile  # heavy, and only needed to add

        self.file: IO[bytes] = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115
        self.count = 0
        self.size = 0
        self.trace: str | None = None

    def write(self, lines: bytes, count: int, *, trace: str | None) -> None:
        """Add lines of items; all of one add have the same trace."""
        self.file.write(lines)
        self.count += count
        self.size += len(lines)
        self.trace = trace

    def pieces(self) -> Iterator[bytes]:
        """Yield all lines from the beginning, each time that they must be sent."""
        self.file.seek(0)
        while piece := self.file.read(PIECE_BYTES):
            yield piece


def add(caller: Caller, name: str, batches: Iterable[Batch], *, strict: bool = False) -> Added:
    """Add new items to the list: all or nothing, up to the size of a body that the server takes.

    More is sent in parts, each added as a whole and once; with `strict` it is refused.
    """
    transport = caller.transport
    parts = _parts(transport, batches)
    total = Added(0, 0)
    for part in [_only(transport, parts)] if strict else parts:
        with part.file:
            total = total.plus(_send(transport, name, part, strict=strict))
    return total


def _only(transport: Transport, parts: Iterator[Part]) -> Part:
    only, *more = parts
    if more:
        for part in (only, *more):
            part.file.close()
        what = f"more than {transport.server} takes at once cannot be added strictly"
        raise TooLarge(what, "leave strict out, or add where the database is")
    return only


def _send(transport: Transport, name: str, part: Part, *, strict: bool) -> Added:
    # A few items are harmless to repeat without a key, and the server need not store the answer.
    keyed = strict or part.count > UNKEYED_ITEMS
    request = ApiRequest((name,), {"strict": strict or None}, trace=part.trace)
    added: Added = transport.send(ADD_ITEMS, request, pieces=part.pieces, size=part.size, keyed=keyed)
    return added


def _parts(transport: Transport, batches: Iterable[Batch]) -> Iterator[Part]:
    part, max_bytes = Part(), MEMORY_BYTES
    for batch in batches:
        lines, trace = _lines(batch)
        if part.size + len(lines) > max_bytes == MEMORY_BYTES:
            max_bytes = max(MEMORY_BYTES, transport.send(LIMITS, ApiRequest(())).body_bytes)
        if part.size + len(lines) > max_bytes:
            yield part
            part = Part()
        part.write(lines, len(batch.entries), trace=trace)
    yield part


def _lines(batch: Batch) -> tuple[bytes, str | None]:
    """Return a batch as NDJSON, a key or an item to a line, and its trace."""
    if batch.same is not None and batch.same == {**_PLAIN, "trace": batch.same["trace"]}:
        return b"".join(_encode(key) + b"\n" for key in batch.entries), batch.same["trace"]
    rows = batch.rows()
    return b"".join(_encode(_item(row)) + b"\n" for row in rows), rows[0]["trace"] if rows else None


def _item(row: dict[str, Any]) -> ItemToAdd:
    data = None if row["data"] is None else msgspec.Raw(row["data"].encode())
    return ItemToAdd(row["key"], data, due_text(row["delay"], row.get("due")), row["gate"], row["priority"])


VERBS = {items.add: add}
