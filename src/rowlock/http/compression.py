"""Packed bodies: gzip and zstd, unpacked a bounded piece at a time, and packed where the client asks for it."""

import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Protocol

from rowlock.errors import InvalidBody, UnknownKind
from rowlock.http.limits import MB

MAX_PIECE_BYTES = 256 * 1024
MIN_COMPRESSED_BYTES = 1_000
"""Bodies below this many bytes are not worth packing."""
# A block of a hundred thousand bytes may be packed in four: so many of them are let in at once.
ZSTD_FEED_BYTES = 128
ZSTD_WINDOW_BYTES = 8 * MB


class Decompressor(Protocol):
    """Takes packed bytes, gives bounded pieces of what they hold."""

    def feed(self, packed: bytes) -> Iterator[bytes]:
        """What these bytes hold, one bounded piece after the other."""

    def end(self) -> None:
        """Refuse what ended in its middle."""


def decompressor_for(coding: str) -> Decompressor | None:
    """Whoever unpacks what is packed so; None for what is not packed."""
    if coding in ("", "identity"):
        return None
    if coding in ("gzip", "x-gzip"):
        return GzipDecompressor()
    if coding == "zstd" and (zstd := _zstandard()) is not None:
        return ZstdDecompressor(zstd)
    raise UnknownKind(f"a body packed as {coding[:40]!r} cannot be read", f"send it plain, or as {_offered()}")


def _offered() -> str:
    return "gzip" if _zstandard() is None else "gzip or zstd"


class GzipDecompressor:
    """Unpacks gzip, also of several members."""

    def __init__(self) -> None:
        self._inner: Any = zlib.decompressobj(31)

    def feed(self, packed: bytes) -> Iterator[bytes]:
        """What these bytes hold, one bounded piece after the other."""
        while packed:
            if self._inner.eof:
                self._inner = zlib.decompressobj(31)
            try:
                yield self._inner.decompress(packed, MAX_PIECE_BYTES)
            except zlib.error:
                raise invalid_coding("gzip") from None
            packed = self._inner.unconsumed_tail or self._inner.unused_data

    def end(self) -> None:
        """Refuse what ended in its middle."""
        if not self._inner.eof:
            raise invalid_coding("gzip")


class ZstdDecompressor:
    """Unpacks zstd."""

    def __init__(self, zstd: Any) -> None:
        self._error = zstd.ZstdError
        self._decompressor = zstd.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES)
        self._inner = self._decompressor.decompressobj()

    def feed(self, packed: bytes) -> Iterator[bytes]:
        """What these bytes hold, one bounded piece after the other."""
        for at in range(0, len(packed), ZSTD_FEED_BYTES):
            part = packed[at : at + ZSTD_FEED_BYTES]
            try:
                while part:
                    if self._inner.eof:
                        self._inner = self._decompressor.decompressobj()
                    yield self._inner.decompress(part)
                    part = self._inner.unused_data if self._inner.eof else b""
            except self._error:
                raise invalid_coding("zstd") from None

    def end(self) -> None:
        """Refuse what ended in its middle."""
        if not self._inner.eof:
            raise invalid_coding("zstd")


def invalid_coding(coding: str) -> InvalidBody:
    """The error for a body that cannot be unpacked."""
    return InvalidBody(f"the body is not whole {coding}", "pack it again, or send it plain")


@lru_cache(1)
def _zstandard() -> Any:
    try:
        import zstandard  # an extra: gzip does without
    except ImportError:
        return None
    return zstandard


class Compressor(Protocol):
    """Packs an answer piece by piece."""

    coding: bytes

    def feed(self, piece: bytes) -> bytes:
        """What can be sent now."""

    def end(self) -> bytes:
        """The rest."""


@lru_cache(256)
def choose_coding(accepted: str) -> str:
    """How an answer may be packed for who accepts these codings; empty for not at all."""
    qualities = dict(_quality(part) for part in accepted.lower().split(","))
    for coding in ("zstd", "gzip"):
        if qualities.get(coding, 0.0) > 0 and (coding == "gzip" or _zstandard() is not None):
            return coding
    return ""


def _quality(part: str) -> tuple[str, float]:
    name, _, parameter = part.partition(";")
    try:
        return name.strip(), float(parameter.partition("=")[2] or 1.0)
    except ValueError:
        return name.strip(), 0.0


def compressor_for(coding: str) -> Compressor | None:
    """Whoever packs so; None for who sends it plain."""
    if coding == "gzip":
        return GzipCompressor()
    return ZstdCompressor() if coding == "zstd" else None


class GzipCompressor:
    """Packs as gzip."""

    coding = b"gzip"

    def __init__(self) -> None:
        self._inner = zlib.compressobj(6, zlib.DEFLATED, 31)

    def feed(self, piece: bytes) -> bytes:
        """What can be sent now: all of it, so that nobody waits for a line that is written."""
        return self._inner.compress(piece) + self._inner.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        """The rest."""
        return self._inner.flush()


class ZstdCompressor:
    """Packs as zstd."""

    coding = b"zstd"

    def __init__(self) -> None:
        zstd = _zstandard()
        self._inner = zstd.ZstdCompressor(level=3).compressobj()
        self._block = zstd.COMPRESSOBJ_FLUSH_BLOCK

    def feed(self, piece: bytes) -> bytes:
        """What can be sent now: all of it, so that nobody waits for a line that is written."""
        packed: bytes = self._inner.compress(piece) + self._inner.flush(self._block)
        return packed

    def end(self) -> bytes:
        """The rest."""
        rest: bytes = self._inner.flush()
        return rest
