"""Compression of bodies with gzip and zstd: requests are decompressed in bounded pieces, responses on demand."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from rowlock.api.limits import MB
from rowlock.errors import InvalidBody, UnknownKind
from rowlock.http.asgi import EXTENSION, Asgi, Header, Receive, Scope, Send

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


COMPRESSIBLE_TYPES = (b"text/", b"application/json", b"application/x-ndjson", b"application/problem+json")
NEVER_COMPRESSED = (204, 206, 304)
"""Statuses without a body, or with a part of one."""


class CompressionMiddleware:
    """ASGI middleware that compresses responses for clients which accept it.

    Starlette's has no zstd, and holds back what a stream has sent so far.
    """

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application; compress its response if the request accepts that."""
        for name, value in scope["headers"]:
            if name == b"accept-encoding" and (coding := choose_coding(value.decode("latin-1"))):
                send = CompressedResponse(send, coding).send
        await self._app(scope, receive, send)


class CompressedResponse:
    """One response on its way through a compressor."""

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
        self._compressor = compressor_for(self._coding)
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
            body = (self._compressor.feed(body) if body else b"") + (b"" if more else self._compressor.end())
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    def _compress_whole(self, start: Mapping[str, Any], body: bytes) -> dict[str, Any]:
        """Return the headers and the body of a response that is not a stream."""
        compressor = compressor_for(self._coding)
        if compressor is None or len(body) <= MIN_COMPRESSED_BYTES or not self._is_compressible(start):
            return {"headers": start["headers"], "body": body}
        body = compressor.feed(body) + compressor.end()
        length = (b"content-length", str(len(body)).encode())
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
