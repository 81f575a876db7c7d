"""Conditional requests: ETags, and the conditions that If-Match and If-None-Match set."""

import re
import zlib
from typing import Any

from rowlock.errors import Invalid
from rowlock.model import ANY_VERSION, Versions

_TAG = re.compile(r'(?:W/)?"?v?(\d{1,18})(?:\.[0-9a-z-]*)?"?')


def conditions(call: Any) -> dict[str, Any]:
    """What the headers of a request require, as arguments of its verb."""
    found: dict[str, Any] = {}
    if if_match := call.header(b"if-match").strip():
        found["version"] = _versions(if_match)
    if call.header(b"if-none-match").strip() == "*":
        if "absent" not in call.route.takes:
            raise Invalid("If-None-Match is not supported here", "it is for PUT, which makes what does not exist")
        found["absent"] = True
    return found


def _versions(tags: str) -> Versions:
    if tags == "*":
        return ANY_VERSION
    found = [_TAG.fullmatch(tag.strip()) for tag in tags.split(",")]
    if not all(found):
        raise Invalid(f"If-Match: {tags[:100]} names no version", "give the ETag of what you have read")
    return frozenset(int(match[1]) for match in found if match)


def etag(version: int, body: bytes) -> bytes:
    """The tag of a representation: its version goes before the dot, what is only shown behind it."""
    return b'"%d.%08x"' % (version, zlib.crc32(body))


def is_known(tag: bytes, if_none_match: str) -> bool:
    """Whether the client has this representation already."""
    known = [each.strip().removeprefix("W/") for each in if_none_match.split(",")]
    return tag.decode() in known
