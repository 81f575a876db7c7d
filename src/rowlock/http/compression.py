"""Compression of bodies with gzip and zstd: requests are decompressed in bounded pieces, responses on demand."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from rowlock.api.server_limits import MB
from rowlock.errors import InvalidBody, UnknownKind
from rowlock.http.asgi import EXTENSION, Header, Send
from rowlock.http.media_types import qualities

MAX_PIECE_BYTES = 256 * 1024
MIN_COMPRESSED_BYTES = 1_000
"""Smaller bodies are not worth compressing."""
GZIP_FEED_BYTES, ZSTD_FEED_BYTES = 64 * 1024, 128
"""Bytes that are decompressed at a time: four bytes of zstd may hold a block of a hundred thousand."""
ZSTD_WINDOW_BYTES = 8 * MB
COMPRESSIBLE_TYPES = (b"text/", b"application/json", b"application/x-ndjson", b"application/problem+json")
NEVER_COMPRESSED = (204, 206, 304)
"""Statuses without a body, or with a part of one."""


@lru_cache(1)
def _zstandard() -> Any:
    try:
        import zstandard  # an optional extra; gzip needs none
    except ImportError:
        return None
    return zstandard


def decompressor_for(coding: str) -> "Decompressor | None":
    """Return a decompressor for a Content-Encoding; None for identity."""
    zstd = _zstandard()
    if coding in ("", "identity"):
        return None
    if coding in ("gzip", "x-gzip"):
        return Decompressor("gzip", partial(zlib.decompressobj, 31), zlib.error)
    if coding == "zstd" and zstd is not None:
        make = zstd.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES).decompressobj
        return Decompressor("zstd", make, zstd.ZstdError)
    offered = "gzip" if zstd is None else "gzip or zstd"
    raise UnknownKind(f"unsupported Content-Encoding {coding[:40]!r}", f"send it uncompressed, or as {offered}")


class Decompressor:
    """Decompresses a body in bounded pieces; it may have several members or frames."""

    def __init__(self, coding: str, make: Callable[[], Any], error: type[Exception]) -> None:
        self._coding = coding
        self._make = make
        self._error = error
        self._inner = make()
        self._feed_bytes = GZIP_FEED_BYTES if coding == "gzip" else ZSTD_FEED_BYTES
        self._max_bytes = (MAX_PIECE_BYTES,) if coding == "gzip" else ()

    def feed(self, compressed: bytes) -> Iterator[bytes]:
        """Decompress some bytes, in bounded pieces."""
        for at in range(0, len(compressed), self._feed_bytes):
            part = compressed[at : at + self._feed_bytes]
            while part:
                if self._inner.eof:
                    self._inner = self._make()
                try:
                    yield self._inner.decompress(part, *self._max_bytes)
                except self._error:
                    raise self._invalid() from None
                part = self._inner.unconsumed_tail or self._inner.unused_data

    def end(self) -> None:
        """Refuse a body that is incomplete."""
        if not self._inner.eof:
            raise self._invalid()

    def _invalid(self) -> InvalidBody:
        what = f"the body is not valid {self._coding}, or incomplete"
        return InvalidBody(what, "compress it again, or send it uncompressed")


@lru_cache(256)
def choose_coding(accept_encoding: str) -> str:
    """Return the best coding for an Accept-Encoding header; empty for none."""
    liked = dict(qualities(accept_encoding))
    for coding in ("zstd", "gzip"):
        if liked.get(coding, 0.0) > 0 and (coding == "gzip" or _zstandard() is not None):
            return coding
    return ""


class Compressor:
    """Compresses a response; each piece whole, so that a client can read each line at once."""

    def __init__(self, coding: str) -> None:
        if coding == "gzip":
            self._inner: Any = zlib.compressobj(6, zlib.DEFLATED, 31)
            self._flush = zlib.Z_SYNC_FLUSH
        else:
            self._inner = _zstandard().ZstdCompressor(level=3).compressobj()
            self._flush = _zstandard().COMPRESSOBJ_FLUSH_BLOCK

    def compress(self, piece: bytes, *, more: bool) -> bytes:
        """Compress a piece; the last one with the end of the whole."""
        compressed: bytes = self._inner.compress(piece) if piece else b""
        if not more:
            compressed += self._inner.flush()
        elif piece:
            compressed += self._inner.flush(self._flush)
        return compressed


class CompressedResponse:
    """One response on its way through a compressor.

    Starlette's middleware has no zstd, and holds back what a stream has sent so far.
    """

    def __init__(self, send: Send, coding: str) -> None:
        self._send = send
        self._coding = coding
        self._start: dict[str, Any] | None = None
        """The start of a response whose length was announced: its first body message decides."""
        self._compressor: Compressor | None = None

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message of the application, compressed."""
        if message["type"] == EXTENSION:
            await self._send({**message, **self._compress_whole(message, message["body"])})
        elif message["type"] == "http.response.body":
            await self._send_body(message.get("body", b""), more=message.get("more_body", False))
        elif message["type"] != "http.response.start" or not self._is_compressible(message):
            await self._send(message)
        elif any(name.lower() == b"content-length" for name, _ in message["headers"]):
            self._start = message
        else:
            await self._send_start_of_stream(message)

    async def _send_start_of_stream(self, start: Mapping[str, Any]) -> None:
        self._compressor = Compressor(self._coding)
        await self._send({**start, "headers": self._headers(start["headers"])})

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        start, self._start = self._start, None
        if start is not None and not more:
            whole = self._compress_whole(start, body)
            body = whole.pop("body")
            await self._send({**start, **whole})
        elif start is not None:
            await self._send_start_of_stream(start)
        if self._compressor is not None:
            body = self._compressor.compress(body, more=more)
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    def _compress_whole(self, start: Mapping[str, Any], body: bytes) -> dict[str, Any]:
        """Return the headers and the body of a response that is not a stream."""
        if len(body) <= MIN_COMPRESSED_BYTES or not self._is_compressible(start):
            return {"headers": start["headers"], "body": body}
        body = Compressor(self._coding).compress(body, more=False)
        length = (b"content-length", b"%d" % len(body))
        return {"headers": [*self._headers(start["headers"]), length], "body": body}

    def _is_compressible(self, start: Mapping[str, Any]) -> bool:
        headers = {name.lower(): value for name, value in start.get("headers", ())}
        has_type = headers.get(b"content-type", b"").startswith(COMPRESSIBLE_TYPES)
        return has_type and b"content-encoding" not in headers and start["status"] not in NEVER_COMPRESSED

    def _headers(self, headers: Sequence[Header]) -> list[Header]:
        """Return the headers of the compressed response: an ETag is weak, for its bytes may differ the next time."""
        kept = [(name.lower(), value) for name, value in headers if name.lower() != b"content-length"]
        weak = [(name, b"W/" + value if name == b"etag" and value[:2] != b"W/" else value) for name, value in kept]
        if not any(name == b"vary" and b"accept-encoding" in value.lower() for name, value in kept):
            weak.append((b"vary", b"accept-encoding"))
        return [*weak, (b"content-encoding", self._coding.encode())]
