"""Roles of access tokens, their list prefixes, and what is hidden or refused outside those prefixes."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from rowlock import json_codec
from rowlock.errors import Invalid, InvalidSetting, NotAllowed
from rowlock.model import ListInfo, Settings, Then
from rowlock.names import closest


class Role(StrEnum):
    """What a token allows; each role includes those before it."""

    VIEWER = "viewer"
    """Reads lists, items, sessions, events, metrics, counters, schedules and topics."""
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
"""The roles that each role includes; None stands for no token, and for what is open to everybody."""


def allows(role: Role | None, need: Role | None) -> bool:
    """Return whether a role includes the one that is needed."""
    return need in INCLUDED_ROLES[role]


def read_role(text: str) -> Role:
    """Read the name of a role."""
    try:
        return Role(text)
    except ValueError:
        near = closest(text, Role) if isinstance(text, str) else None
        hint = f"did you mean {near!s}?" if near else ""
        raise Invalid(f"role must be one of {', '.join(Role)}, got {text!r}", hint) from None


def covers(prefixes: Iterable[str], name: str) -> bool:
    """Return whether a name has one of the prefixes; no prefixes cover every name."""
    given = tuple(prefixes)
    return not given or name.startswith(given)


def check_covered(prefixes: Sequence[str], name: str) -> None:
    """Refuse the name of a list outside the prefixes; the error does not reveal whether that list exists."""
    if not covers(prefixes, name):
        what = f"this token is for lists that begin with {', '.join(prefixes)}, not for {name[:200]!r}"
        raise NotAllowed(what, "use another name, or another token")


def within(inner: Sequence[str], outer: Sequence[str]) -> bool:
    """Return whether `outer` covers every name that `inner` covers."""
    return not outer or (bool(inner) and all(covers(outer, prefix) for prefix in inner))


def sees(prefixes: Sequence[str], scope: Sequence[str] | None) -> bool:
    """Return whether a caller sees a session: one without prefixes sees all, others those whose scope is within."""
    return not prefixes or (scope is not None and within(scope, prefixes))


def without_covered(prefixes: Iterable[str]) -> list[str]:
    """Sort prefixes and drop those that another covers, so that no name has two of them."""
    kept: list[str] = []
    for prefix in sorted(prefixes):
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return kept


def prefix_ranges(prefixes: Iterable[str]) -> list[dict[str, str]]:
    """Return the ranges of names with these prefixes, or of all names: from `prefix` on, and before `beyond`."""
    # No name has that character, and none sorts after it.
    return [{"prefix": prefix, "beyond": f"{prefix}\U0010ffff"} for prefix in without_covered(prefixes) or [""]]


def redact(info: ListInfo, prefixes: Sequence[str]) -> ListInfo:
    """Return the list without the names of other lists that the prefixes do not cover."""
    if not prefixes or not info.settings.then:
        return info
    then = tuple(each for each in info.settings.then if covers(prefixes, each.list))
    return msgspec.structs.replace(info, settings=msgspec.structs.replace(info.settings, then=then))


def check_changes(changes: Mapping[str, Any], prefixes: Sequence[str]) -> None:
    """Refuse settings that name a list which the prefixes do not cover."""
    for then in _read_then(changes) if prefixes else ():
        check_covered(prefixes, then.list)


def keep_hidden(changes: dict[str, Any], before: Settings, *, prefixes: Sequence[str]) -> dict[str, Any]:
    """Return the changes with what the caller could not see, and so cannot have meant to remove."""
    if not prefixes or "then" not in changes:
        return changes
    hidden = [each for each in before.then if not covers(prefixes, each.list)]
    return {**changes, "then": [*_read_then(changes), *hidden]}


def _read_then(changes: Mapping[str, Any]) -> list[Then]:
    try:
        return msgspec.convert(changes.get("then", ()), list[Then])
    except msgspec.ValidationError as error:
        what = f"a setting cannot have that value: {json_codec.describe_validation_error(error)}"
        raise InvalidSetting(what, "the reference of settings tells what each takes") from None
