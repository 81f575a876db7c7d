"""Traces: the W3C traceparent of an item, by which what is done with it is found beside what asked for it."""

import re

from rowlock.errors import Invalid
from rowlock.names import shown

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)


def read(text: str | None) -> str | None:
    """A traceparent as this version writes it; None if it is none: a bad one is as good as none."""
    found = _FORM.fullmatch(text.strip()) if text else None
    if found is None:
        return None
    version, trace, span, flags, rest = found.groups()
    if version == "ff" or not trace.strip("0") or not span.strip("0") or (version == "00" and rest is not None):
        return None
    # Of a version to come only the first flag is known.
    known = flags if version == "00" else f"{int(flags, 16) & 1:02x}"
    return f"00-{trace}-{span}-{known}"


def check_trace(trace: str | None) -> str | None:
    """The same for who gives one by hand: what is none is refused."""
    if trace is None:
        return None
    good = read(trace) if isinstance(trace, str) else None
    if good is None:
        what = f"{shown(trace)} is no traceparent"
        raise Invalid(what, "it looks like 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    return good
