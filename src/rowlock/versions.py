"""Versions: what a conditional write requires of the thing that it changes."""

from collections.abc import Collection

from rowlock.errors import StaleVersion

Versions = int | Collection[int]
"""One version, or several of which any will do."""

ANY_VERSION: Collection[int] = range(2**63)
"""Requires that the thing exists, at whatever version."""


def check_version(what: str, actual: int | None, *, version: Versions | None = None, absent: bool = False) -> None:
    """Raise StaleVersion unless the thing is at the required version, or does not exist if it must be `absent`.

    An `actual` version of None means that it does not exist.
    """
    if absent and actual is not None:
        raise StaleVersion(
            f"{what} exists already, at version {actual}", "leave If-None-Match out", asked=None, version=actual
        )
    if version is None:
        return
    allowed = (version,) if isinstance(version, int) else version
    if actual is not None and actual in allowed:
        return
    named = [] if allowed is ANY_VERSION else sorted(allowed)
    fields = {"asked": named[0] if len(named) == 1 else named or None, "version": actual}
    if actual is None:
        raise StaleVersion(f"{what} does not exist", "leave If-Match out", **fields)
    raise StaleVersion(f"{what} is at version {actual}, not {', '.join(map(str, named))}", "read it again", **fields)
