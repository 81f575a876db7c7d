"""Roles: what the holder of a token may do, and with which lists."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from rowlock.errors import Invalid
from rowlock.names import closest


class Role(StrEnum):
    """What a token is for; each role may do all that those before it may."""

    VIEWER = "viewer"
    """Looks at lists, items, sessions, events, metrics, counters, schedules and topics."""
    WORKER = "worker"
    """Adds, changes and deletes items, opens sessions, claims and settles, takes numbers, subscribes and publishes."""
    OPERATOR = "operator"
    """Pauses, resumes, renames, seals, retries, abandons, moves gates, changes settings, schedules and topics."""
    ADMIN = "admin"
    """Makes and revokes tokens, drops lists, reads the audit."""


INCLUDED_ROLES: dict[Role | None, frozenset[Role | None]] = {
    None: frozenset({None}),
    Role.VIEWER: frozenset({None, Role.VIEWER}),
    Role.WORKER: frozenset({None, Role.VIEWER, Role.WORKER}),
    Role.OPERATOR: frozenset({None, Role.VIEWER, Role.WORKER, Role.OPERATOR}),
    Role.ADMIN: frozenset({None, *Role}),
}
"""For whom what each may do is meant; None is whoever shows no token, and what anybody may do."""


def allows(role: Role | None, need: Role | None) -> bool:
    """Whether the role may do what needs that role at least."""
    return need in INCLUDED_ROLES[role]


def read_role(text: str) -> Role:
    """A role by its name."""
    try:
        return Role(text)
    except ValueError:
        near = closest(text, Role) if isinstance(text, str) else None
        hint = f"did you mean {near!s}?" if near else f"the roles are {', '.join(Role)}"
        raise Invalid(f"there is no role {text!r}", hint) from None


def covers(prefixes: Iterable[str], name: str) -> bool:
    """Whether a list of that name is among those with the prefixes; no prefix at all is every list."""
    given = tuple(prefixes)
    return not given or name.startswith(given)


def within(inner: Sequence[str], outer: Sequence[str]) -> bool:
    """Whether every name that the one covers is covered by the other."""
    return not outer or (bool(inner) and all(covers(outer, prefix) for prefix in inner))


def without_covered(prefixes: Iterable[str]) -> list[str]:
    """The same prefixes without those that another covers, in order: no name has two of them."""
    found: list[str] = []
    for prefix in sorted(prefixes):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found


def prefix_ranges(prefixes: Iterable[str]) -> list[dict[str, str]]:
    """Where names with these prefixes stand in the order of names: from the prefix on, before what is beyond."""
    # No name has that character, and none sorts after it.
    return [{"prefix": prefix, "beyond": f"{prefix}\U0010ffff"} for prefix in without_covered(prefixes)]
