"""Scopes: what somebody with prefixes sees and touches besides lists: sessions, and settings that name other lists."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rowlock import claims, sessions, wording
from rowlock.errors import InvalidSetting
from rowlock.http.call import Call
from rowlock.http.who import Who
from rowlock.model import ListInfo, Settings, Then
from rowlock.outcomes import Move, Outcome
from rowlock.roles import covers


async def is_theirs(call: Call, session: str) -> bool:
    """Whether a session is there for them: one that works lists which are not theirs is not."""
    return not call.who.lists or await call.service.bridge.read(sessions.is_within, session, call.who.lists)


async def check_session(call: Call, session: str) -> None:
    """Refuse a session that is not there for them, as if it were not there at all."""
    check_id(session)
    if not await is_theirs(call, session):
        raise claims.lost(session)


def check_id(session: str) -> None:
    """Refuse what no session can be called, before a database is asked that cannot even read it."""
    if "\0" in session:
        raise claims.lost(session)


def seen(info: ListInfo, who: Who) -> ListInfo:
    """The list as they may see it: without the names of lists that are not theirs."""
    if not who.lists or not info.settings.then:
        return info
    then = tuple(each for each in info.settings.then if _is_theirs(each, who.lists))
    return msgspec.structs.replace(info, settings=msgspec.structs.replace(info.settings, then=then))


def check_settings(changes: Mapping[str, Any], who: Who) -> None:
    """Refuse settings that would reach into a list that is not theirs."""
    for then in _given(changes) if who.lists else ():
        who.check(then.list)


def check_outcomes(outcomes: Iterable[Outcome], who: Who) -> None:
    """Refuse an item that would wait for a list that is not theirs: its end would be told."""
    for outcome in outcomes if who.lists else ():
        if isinstance(outcome, Move) and isinstance(outcome.until, str):
            who.check(outcome.until)


def kept(changes: dict[str, Any], before: Settings | None, *, lists: Sequence[str]) -> dict[str, Any]:
    """The changes, with what those with prefixes did not see of the list: they cannot have meant to take it away."""
    if not lists or before is None or "then" not in changes:
        return changes
    unseen = [each for each in before.then if not _is_theirs(each, lists)]
    return {**changes, "then": [*_given(changes), *unseen]}


def _given(changes: Mapping[str, Any]) -> list[Then]:
    try:
        return msgspec.convert(changes.get("then", ()), list[Then])
    except msgspec.ValidationError as error:
        what = f"a setting cannot have that value: {wording.wrong(error)}"
        raise InvalidSetting(what, "see GET /openapi.json") from None


def _is_theirs(then: Then, lists: Sequence[str]) -> bool:
    return covers(lists, then.list)
