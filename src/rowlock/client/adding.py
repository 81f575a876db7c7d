"""Adding over HTTP: what was checked here is sent as lines, from a file if it is much; never all of it in memory."""

from collections.abc import Iterable, Iterator
from typing import IO, Any

import msgspec

from rowlock.client.items import when
from rowlock.client.link import Link
from rowlock.errors import TooLarge
from rowlock.item_input import Batch
from rowlock.model import DEFAULT_PRIORITY, Added

PIECE = 256 * 1024
IN_MEMORY = 4 * 1024 * 1024
FEW = 500

_PLAIN = {"gate": None, "priority": DEFAULT_PRIORITY, "delay": 0, "data": None}
_encode = msgspec.json.Encoder().encode


class Limits(msgspec.Struct, frozen=True):
    """What a server takes at once, of all it tells about its limits."""

    body_bytes: int


class Part:
    """What is sent in one request: lines, in memory or on disk."""

    def __init__(self) -> None:
        from tempfile import SpooledTemporaryFile  # heavy, and only who adds needs it

        self.file: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
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
        while piece := self.file.read(PIECE):
            yield piece


def add(link: Link, name: str, batches: Iterable[Batch], *, strict: bool = False) -> Added:
    """Put new items on the list: all or nothing, as far as the server takes so much at once.

    More is sent part by part, each added as a whole and once; with `strict` it is refused.
    """
    parts = _parts(link, batches)
    added = existing = 0
    for part in [_only(link, parts)] if strict else parts:
        with part.file:
            landed = _sent(link, name, part, strict=strict)
        added, existing = added + landed.added, existing + landed.existing
    return Added(added, existing)


def _only(link: Link, parts: Iterator[Part]) -> Part:
    only, *more = parts
    if more:
        for part in (only, *more):
            part.file.close()
        what = f"more than {link.server} takes at once cannot be added strictly"
        raise TooLarge(what, "leave strict out, or add where the database is")
    return only


def _sent(link: Link, name: str, part: Part, *, strict: bool) -> Added:
    # A few that are asked for again are there already, which does no harm and costs the server no memory of it.
    keyed = strict or part.count > FEW
    headers = {"content-length": str(part.size)}
    if part.trace is not None:
        headers["traceparent"] = part.trace
    return link.ask(
        "POST",
        "lists",
        name,
        "items",
        gives=Added,
        query={"strict": strict or None},
        lines=part.pieces,
        headers=headers,
        keyed=keyed,
    )


def _parts(link: Link, batches: Iterable[Batch]) -> Iterator[Part]:
    part, most = Part(), IN_MEMORY
    for batch in batches:
        lines, trace = _lines(batch)
        if part.size + len(lines) > most == IN_MEMORY:
            most = max(IN_MEMORY, link.ask("GET", "limits", gives=Limits).body_bytes)
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


def _item(row: dict[str, Any]) -> dict[str, Any]:
    data = row["data"]
    known = {
        "key": row["key"],
        "gate": row["gate"],
        "priority": row["priority"],
        "due": when(row["delay"], row.get("due")),
        "data": None if data is None else msgspec.Raw(data.encode()),
    }
    return {name: value for name, value in known.items() if value is not None}
