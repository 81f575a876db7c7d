"""Compression of bodies with gzip and zstd: requests are decompressed in bounded pieces, responses on demand."""

import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Protocol

from rowlock.errors import InvalidBody, UnknownKind
from rowlock.http.limits import MB

MAX_PIECE_BYTES = 256 * 1024
MIN_COMPRESSED_BYTES = 1_000
"""Smaller bodies are not worth compressing."""
# Four bytes may hold a block of a hundred thousand: so few are decompressed at a time.
ZSTD_FEED_BYTES = 128
ZSTD_WINDOW_BYTES = 8 * MB


class Decompressor(Protocol):
    """Decompresses a body in bounded pieces."""

    def feed(self, compressed: bytes) -> Iterator[bytes]:
        """Decompress some bytes, in bounded pieces."""

    def end(self) -> None:
        """Refuse a body that is incomplete."""


def decompressor_for(coding: str) -> Decompressor | None:
    """Return a decompressor for a Content-Encoding; None for identity."""
    if coding in ("", "identity"):
        return None
    if coding in ("gzip", "x-gzip"):
        return GzipDecompressor()
    if coding == "zstd" and (zstd := _zstandard()) is not None:
        return ZstdDecompressor(zstd)
    raise UnknownKind(f"unsupported Content-Encoding {coding[:40]!r}", f"send it uncompressed, or as {_offered()}")


def _offered() -> str:
    return "gzip" if _zstandard() is None else "gzip or zstd"


class GzipDecompressor:
    """Decompresses gzip, also of several members."""

    def __init__(self) -> None:
        self._inner: Any = zlib.decompressobj(31)

    def feed(self, compressed: bytes) -> Iterator[bytes]:
        """Decompress some bytes, in bounded pieces."""
        while compressed:
            if self._inner.eof:
                self._inner = zlib.decompressobj(31)
            try:
                yield self._inner.decompress(compressed, MAX_PIECE_BYTES)
            except zlib.error:
                raise invalid_coding("gzip") from None
            compressed = self._inner.unconsumed_tail or self._inner.unused_data

    def end(self) -> None:
        """Refuse a body that is incomplete."""
        if not self._inner.eof:
            raise invalid_coding("gzip")


class ZstdDecompressor:
    """Decompresses zstd."""

    def __init__(self, zstd: Any) -> None:
        self._error = zstd.ZstdError
        self._decompressor = zstd.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES)
        self._inner = self._decompressor.decompressobj()

    def feed(self, compressed: bytes) -> Iterator[bytes]:
        """Decompress some bytes, in bounded pieces."""
        for at in range(0, len(compressed), ZSTD_FEED_BYTES):
            part = compressed[at : at + ZSTD_FEED_BYTES]
            try:
                while part:
                    if self._inner.eof:
                        self._inner = self._decompressor.decompressobj()
                    yield self._inner.decompress(part)
                    part = self._inner.unused_data if self._inner.eof else b""
            except self._error:
                raise invalid_coding("zstd") from None

    def end(self) -> None:
        """Refuse a body that is incomplete."""
        if not self._inner.eof:
            raise invalid_coding("zstd")


def invalid_coding(coding: str) -> InvalidBody:
    """Return the error for a body that cannot be decompressed."""
    return InvalidBody(f"the body is not valid {coding}, or incomplete", "compress it again, or send it uncompressed")


@lru_cache(1)
def _zstandard() -> Any:
    try:
        import zstandard  # an optional extra; gzip needs none
    except ImportError:
        return None
    return zstandard


class Compressor(Protocol):
    """Compresses a response piece by piece."""

    coding: bytes

    def feed(self, piece: bytes) -> bytes:
        """Compress a piece, and return what can be sent now."""

    def end(self) -> bytes:
        """Return the rest."""


@lru_cache(256)
def choose_coding(accepted: str) -> str:
    """Return the best coding for an Accept-Encoding header; empty for none."""
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
    """Return a compressor for a coding; None for none."""
    if coding == "gzip":
        return GzipCompressor()
    return ZstdCompressor() if coding == "zstd" else None


class GzipCompressor:
    """Compresses with gzip."""

    coding = b"gzip"

    def __init__(self) -> None:
        self._inner = zlib.compressobj(6, zlib.DEFLATED, 31)

    def feed(self, piece: bytes) -> bytes:
        """Compress a piece and return all of it, so that a client can read each line at once."""
        return self._inner.compress(piece) + self._inner.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        """Return the rest."""
        return self._inner.flush()


class ZstdCompressor:
    """Compresses with zstd."""

    coding = b"zstd"

    def __init__(self) -> None:
        zstd = _zstandard()
        self._inner = zstd.ZstdCompressor(level=3).compressobj()
        self._block = zstd.COMPRESSOBJ_FLUSH_BLOCK

    def feed(self, piece: bytes) -> bytes:
        """Compress a piece and return all of it, so that a client can read each line at once."""
        compressed: bytes = self._inner.compress(piece) + self._inner.flush(self._block)
        return compressed

    def end(self) -> bytes:
        """Return the rest."""
        rest: bytes = self._inner.flush()
        return rest
