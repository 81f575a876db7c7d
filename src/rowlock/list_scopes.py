"""List scopes: what a caller whose token has prefixes may see and set of other lists, in the settings of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rowlock import json_codec
from rowlock.errors import InvalidSetting
from rowlock.model import ListInfo, Settings, Then
from rowlock.roles import check_covered, covers


def redact(info: ListInfo, prefixes: Sequence[str]) -> ListInfo:
    """The list without the names of other lists that the prefixes do not cover."""
    if not prefixes or not info.settings.then:
        return info
    then = tuple(each for each in info.settings.then if covers(prefixes, each.list))
    return msgspec.structs.replace(info, settings=msgspec.structs.replace(info.settings, then=then))


def check_changes(changes: Mapping[str, Any], prefixes: Sequence[str]) -> None:
    """Refuse settings that name a list which the prefixes do not cover."""
    for then in _given(changes) if prefixes else ():
        check_covered(prefixes, then.list)


def keep_hidden(changes: dict[str, Any], before: Settings, *, prefixes: Sequence[str]) -> dict[str, Any]:
    """The changes with what the caller was not shown, and so cannot have meant to remove."""
    if not prefixes or "then" not in changes:
        return changes
    hidden = [each for each in before.then if not covers(prefixes, each.list)]
    return {**changes, "then": [*_given(changes), *hidden]}


def _given(changes: Mapping[str, Any]) -> list[Then]:
    try:
        return msgspec.convert(changes.get("then", ()), list[Then])
    except msgspec.ValidationError as error:
        what = f"a setting cannot have that value: {json_codec.describe_validation_error(error)}"
        raise InvalidSetting(what, "the reference of settings tells what each takes") from None
