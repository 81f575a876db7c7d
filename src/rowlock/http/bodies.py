"""Bodies of requests: read in bounds, unpacked in bounds, never held whole where a stream will do."""

from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import msgspec

from rowlock import json_codec
from rowlock.api.limits import KB, ServerLimits
from rowlock.errors import InvalidBody, InvalidShape, Overloaded, TooLarge
from rowlock.http.asgi import Receive, is_half_closed
from rowlock.http.compression import decompressor_for

SPOOL = 64 * KB
SMALLEST = 100_000
"""A length of up to five digits is below, and need not be looked at."""
HINT = "split it, or send NDJSON, which is read as a stream"


class Gone(Exception):
    """The client has left; nobody is there to be answered."""


class Budget:
    """How much all requests together may hold in memory."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, count: int) -> None:
        """Hold more; refused if there is no room."""
        if count > self._left:
            raise Overloaded("large requests and answers of many are under way already", "try again in a moment")
        self._left -= count

    def give_back(self, count: int) -> None:
        """Hold less."""
        self._left += count


class Body:
    """The body of one request."""

    def __init__(
        self,
        receive: Receive,
        headers: Mapping[bytes, bytes],
        limits: ServerLimits,
        *,
        budget: "Budget | None" = None,
        scope: Mapping[str, Any],
    ) -> None:
        self.receive = receive
        self._limits = limits
        self.headers = headers
        self._length = headers.get(b"content-length")
        self._coding = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
        self.read = False
        self._scope = scope
        self._budget = budget
        self._held = 0
        self._first: Mapping[str, Any] | None = None

    @property
    def unread(self) -> bool:
        """Whether there is a body that nobody has read to its end."""
        return not self.read and (b"transfer-encoding" in self.headers or self._length not in (None, b"0"))

    @property
    def small(self) -> bool:
        """Whether it was said beforehand that it is small and not packed."""
        return not self._coding and self._length is not None and len(self._length) <= 5

    async def chunks(self, most: int | None) -> AsyncIterator[bytes]:
        """The bytes as they come, unpacked; refused when there are more than `most`."""
        self._refuse_length(most)
        decompressor = decompressor_for(self._coding)
        seen, more = 0, True
        while more:
            message, self._first = self._first or await self.receive(), None
            if message["type"] == "http.disconnect":
                raise Gone
            more = message.get("more_body", False)
            packed = message.get("body", b"")
            for piece in decompressor.feed(packed) if decompressor else (packed,):
                seen += len(piece)
                if most is not None and seen > most:
                    raise _too_large(most)
                if piece:
                    yield piece
        if decompressor:
            decompressor.end()
        self.read = True

    async def discard(self, most: int) -> None:
        """Read to the end and keep nothing; Gone if the end never comes, refused when there is more than `most`."""
        self._refuse_length(most)
        seen, more = 0, True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Gone
            more = message.get("more_body", False)
            seen += len(message.get("body", b""))
            if seen > most:
                raise _too_large(most)
        self.read = True

    def _refuse_length(self, most: int | None) -> None:
        if self._length is not None and most is not None and self._length.isdigit() and int(self._length) > most:
            raise _too_large(most)

    async def left(self) -> None:
        """Return when the client has gone."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def left_or_silent(self) -> None:
        """Return when the client has gone or will say no more, which cannot be told apart: for who keeps it waiting."""
        while not self.silent and (await self.receive())["type"] != "http.disconnect":
            pass

    @property
    def silent(self) -> bool:
        """Whether the client has closed its side; it may still listen."""
        return is_half_closed(self._scope)

    async def whole(self, most: int) -> bytes:
        """All of it, if it is not too large."""
        if self.small:
            if most < SMALLEST:
                self._refuse_length(most)
            message = await self.receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                self.read = True
                body: bytes = message.get("body", b"")
                return body
            self._first = message
        pieces: list[bytes] = []
        async for piece in self.chunks(most):
            pieces.append(piece)
            if len(pieces) > 1:
                self.hold(len(piece))
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def hold(self, count: int) -> None:
        """Keep so much in memory until the request is over; refused if others hold too much already."""
        if self._budget is not None:
            self._budget.take(count)
            self._held += count

    def release(self) -> None:
        """The request is over: others may hold as much."""
        if self._held and self._budget is not None:
            self._budget.give_back(self._held)
            self._held = 0

    async def document(self, form: Any) -> Any:
        """The JSON document in it, checked to be of that form; an empty body is an empty object."""
        return decoded(await self.whole(self._limits.document_bytes) or b"{}", form)

    async def file(self) -> IO[bytes]:
        """All of it as a file, on disk if it is large."""
        if self.small:
            return BytesIO(await self.whole(self._limits.body_bytes))
        file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(max_size=SPOOL)  # noqa: SIM115
        try:
            async for piece in self.chunks(self._limits.body_bytes):
                file.write(piece)
        except BaseException:
            file.close()
            raise
        file.seek(0)
        return file

    async def lines(self) -> AsyncIterator[list[bytes]]:
        """The lines as they come, some at a time; the whole may be of any length, one line not."""
        rest = b""
        async for piece in self.chunks(None):
            *whole, rest = (rest + piece).split(b"\n")
            if len(rest) > self._limits.line_bytes:
                raise TooLarge(f"a line is longer than {self._limits.line_bytes} bytes", "end each item with a newline")
            if whole:
                yield whole
        if rest:
            yield [rest]


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"the body is larger than {most} bytes", HINT, most=most)


@lru_cache(64)
def _decoder(form: Any) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(form)


def decoded(text: bytes | str, form: Any, *, line: int | None = None) -> Any:
    """JSON as a value of that form; what is wrong names the line if it is one of many."""
    place, fields = ("the body", {}) if line is None else (f"line {line}", {"line": line})
    try:
        return _decoder(form).decode(text)
    except msgspec.ValidationError as error:
        what = f"{place} is not what is taken here: {json_codec.describe_validation_error(error)}"
        raise InvalidShape(what, "see GET /openapi.json", pointer=json_codec.json_pointer(error), **fields) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        what = f"{place} is not JSON: {json_codec.describe_syntax_error(error)}"
        raise InvalidBody(what, "check its quotes and commas", **fields) from None
    except RecursionError:
        raise json_codec.too_deep(place, error=InvalidBody, **fields) from None
