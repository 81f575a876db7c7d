"""Versions: ETags of lists and items, and the conditions that a request sets on them."""

import re
import zlib
from typing import Any

import msgspec

from rowlock.errors import Invalid, StaleVersion

_TAG = re.compile(r'(?:W/)?"?v?(\d{1,18})(?:\.[0-9a-z-]*)?"?')


class Condition(msgspec.Struct, frozen=True):
    """What must hold before something is changed."""

    versions: frozenset[int] | None = None
    """Only if it is at one of these."""
    exists: bool = False
    """Only if it is there."""
    absent: bool = False
    """Only if it is not there yet."""

    def check(self, version: int | None, what: str) -> None:
        """Refuse if it does not hold; a version of None is not there."""
        if self.absent and version is not None:
            told = f"{what} is there already, at version {version}"
            raise StaleVersion(told, "leave If-None-Match out", asked=None, version=version)
        asked = sorted(self.versions or ())
        both = {"asked": asked[0] if len(asked) == 1 else asked or None, "version": version}
        if (self.exists or self.versions is not None) and version is None:
            raise StaleVersion(f"{what} is not there", "leave If-Match out", **both)
        if self.versions is not None and version not in self.versions:
            told = f"{what} is at version {version}, not {', '.join(map(str, asked))}"
            raise StaleVersion(told, "read it again", **both)


def condition(call: Any) -> Condition:
    """What the headers of a request say must hold."""
    if_match, if_none_match = call.header(b"if-match").strip(), call.header(b"if-none-match").strip()
    absent = if_none_match == "*"
    if not if_match:
        return Condition(absent=absent)
    if if_match == "*":
        return Condition(exists=True, absent=absent)
    return Condition(frozenset(_numbers(if_match)), absent=absent)


def _numbers(tags: str) -> list[int]:
    found = [_TAG.fullmatch(tag.strip()) for tag in tags.split(",")]
    if not all(found):
        raise Invalid(f"If-Match: {tags[:100]} names no version", "give the ETag of what you have read")
    return [int(match[1]) for match in found if match]


def etag(version: int, body: bytes) -> bytes:
    """The tag of a representation: its version goes before the dot, what is only shown behind it."""
    return b'"%d.%08x"' % (version, zlib.crc32(body))


def is_known(tag: bytes, if_none_match: str) -> bool:
    """Whether the client has this representation already."""
    known = [each.strip().removeprefix("W/") for each in if_none_match.split(",")]
    return tag.decode() in known
