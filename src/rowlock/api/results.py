"""Done items over HTTP: their results, and the keys that a list remembers."""

import msgspec

from rowlock import done_keys, results
from rowlock.api.documents import Value, page
from rowlock.api.items import ITEM_PATH
from rowlock.api.lists import LIST_PATH
from rowlock.api.operation import Operation
from rowlock.results import Result
from rowlock.roles import Role

VIEWER, WORKER, OPERATOR, ADMIN = Role


class Remembered(Value, frozen=True):
    """How many keys a list remembers as done."""

    remembered: int


class KeysToForget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which keys are not remembered as done any more: these, or those that were done long ago."""

    keys: list[str] | None = None
    older: str | float | None = None
    """How long ago they were done at least: `30d`; `0s` is all."""


class Forgotten(Value, frozen=True):
    """How many keys were forgotten."""

    forgotten: int


OPERATIONS = (
    Operation(
        results.of_item,
        "GET",
        f"{ITEM_PATH}/results",
        VIEWER,
        page("ResultPage", "results", of=Result),
        name="items.results",
    ),
    Operation(
        results.page,
        "GET",
        f"{LIST_PATH}/results",
        VIEWER,
        page("NewestResultPage", "results", of=Result, cells=("key", "attempts", "settled_at", "result"), cursor="key"),
        streamed=True,
    ),
    Operation(done_keys.count, "GET", f"{LIST_PATH}/done", VIEWER, Remembered),
    Operation(
        done_keys.forget,
        "POST",
        f"{LIST_PATH}/done/forget",
        OPERATOR,
        Forgotten,
        body=KeysToForget,
        description="At most `count` of the oldest in one request: ask again until it is 0.",
    ),
)
