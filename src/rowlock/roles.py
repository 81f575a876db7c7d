"""Roles: what the holder of a token may do, and with which lists."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from rowlock.errors import Invalid
from rowlock.names import closest


class Role(StrEnum):
    """What a token is for; each role may do all that those before it may."""

    VIEWER = "viewer"
    """Looks at lists, items, sessions, events and metrics."""
    WORKER = "worker"
    """Adds items, opens sessions, claims and settles."""
    OPERATOR = "operator"
    """Pauses, resumes, retries, abandons, deletes, moves gates, changes settings."""
    ADMIN = "admin"
    """Makes and revokes tokens, migrates, drops lists, reads the audit."""


class Need(StrEnum):
    """What a request wants to do."""

    NOTHING = "nothing"
    """Nothing that is anybody's: whether the service lives, what its limits are."""
    READ = "read"
    WORK = "work"
    OPERATE = "operate"
    ADMINISTER = "administer"


ALLOWED = {
    None: frozenset({Need.NOTHING}),
    Role.VIEWER: frozenset({Need.NOTHING, Need.READ}),
    Role.WORKER: frozenset({Need.NOTHING, Need.READ, Need.WORK}),
    Role.OPERATOR: frozenset({Need.NOTHING, Need.READ, Need.WORK, Need.OPERATE}),
    Role.ADMIN: frozenset(Need),
}
"""What each may do; None is whoever shows no token."""


def allows(role: Role | None, need: Need) -> bool:
    """Whether the role may do that."""
    return need in ALLOWED[role]


def least(need: Need) -> Role | None:
    """The least role that may do that; None if nobody need show a token."""
    return next(role for role, needs in ALLOWED.items() if need in needs)


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
