"""Who asks, and whether they may: one seam for every route."""

import ipaddress
from functools import lru_cache

from rowlock.errors import CrossSite
from rowlock.http.call import Call
from rowlock.http.who import ANYBODY, Who

SAFE = ("GET", "HEAD", "OPTIONS")


async def authorize(call: Call) -> Who:
    """Who asks this, if they may."""
    refuse_cross_site(call)
    return ANYBODY


def refuse_cross_site(call: Call) -> None:
    """Refuse what a page of another site makes a browser ask: loopback is open to people here, not to their pages."""
    host = call.header(b"host")
    if not is_here(host):
        raise CrossSite(f"this service is not {host[:100]!r}", "ask it by its address, or by localhost")
    origin = call.header(b"origin")
    if origin and origin not in (f"http://{host}", f"https://{host}") and call.method not in SAFE:
        raise CrossSite(f"a page of {origin[:100]!r} may not ask this", "ask from this address, or without a browser")


@lru_cache(256)
def is_here(host: str) -> bool:
    """Whether a Host header names this machine itself: else a name on the net could be made to lead here."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    name = name.strip("[]").lower()
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
