"""Audit: who did what to which list, written in the transaction of the write itself. Verbs of a transaction.

Whatever is run inside `acting(who)` is recorded, verb by verb; outside of it nothing is, and nothing is paid.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from rowlock.db import Transaction
from rowlock.durations import Duration, DurationOrTime, delay_or_time, milliseconds
from rowlock.errors import Invalid
from rowlock.group_commit import groupable_like
from rowlock.item_input import CheckedChanges
from rowlock.model import Added, to_datetime
from rowlock.names import check_limit

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_KEEP = "90d"
MAX_ACTOR_BYTES = 200
DETAILS = ("to", "changes", "gate", "role", "lists", "label", "schedule", "token")
"""What a record tells of how a verb was asked: short things. Keys and data are the list's own."""
MAX_DETAILS_BYTES = 1_000
MAX_ID = 2**63 - 1


class Actor(msgspec.Struct, frozen=True):
    """Who is at it."""

    who: str
    token: int | None = None
    """The id of the token that was shown, if one was."""
    request: str | None = None
    """The id of the request, as it stands in logs."""
    verb: str | None = None
    """What it is called, where the verb that runs is only a part of it."""
    of: str | None = None
    """The list that it is done to, where the verb that runs does not tell."""
    keep: int = milliseconds(DEFAULT_KEEP)


class AuditRecord(msgspec.Struct, frozen=True):
    """One thing that somebody did."""

    id: int
    at: datetime
    who: str
    token: int | None
    verb: str
    list: str | None
    count: int | None
    """How many items or other things it touched, where that can be said."""
    details: Any
    request: str | None


_actor: ContextVar[Actor | None] = ContextVar("actor", default=None)


@contextmanager
def acting(
    who: str,
    *,
    token: int | None = None,
    request: str | None = None,
    verb: str | None = None,
    of: str | None = None,
    keep: Duration = DEFAULT_KEEP,
) -> Iterator[None]:
    """Record what is done in the block as done by somebody."""
    if not who or not who.isprintable() or len(who.encode()) > MAX_ACTOR_BYTES:
        raise Invalid("who acts cannot be shown in a line", f"give 1 to {MAX_ACTOR_BYTES} bytes of printable text")
    before = _actor.set(Actor(who, token, request, verb, of, milliseconds(keep)))
    try:
        yield
    finally:
        _actor.reset(before)


def audited(verb: Callable[Concatenate[Transaction, P], T]) -> Callable[Concatenate[Transaction, P], T]:
    """The verb as it is to be run here: by itself, or with its record if somebody is acting."""
    actor = _actor.get()
    if actor is None:
        return verb
    recorded = groupable_like(verb)(partial(_recorded, actor, verb))
    vars(recorded).update(__module__=verb.__module__, __name__=verb.__name__)  # for a history of operations
    return recorded


def _recorded(actor: Actor, verb: Callable[..., T], /, tx: Transaction, *args: Any, **kwargs: Any) -> T:
    from inspect import signature  # only who is recorded pays for it

    result = verb(tx, *args, **kwargs)
    asked = signature(verb).bind(tx, *args, **kwargs).arguments
    told = {name: _detail(asked[name]) for name in DETAILS if asked.get(name)}
    details = msgspec.json.encode(told).decode() if told else None
    tx.run(
        "audit/record",
        who=actor.who,
        token=actor.token,
        verb=actor.verb or f"{verb.__module__.rpartition('.')[2]}.{verb.__name__}",
        list=actor.of or asked.get("name"),
        count=_count(result),
        details=details if details and len(details.encode()) <= MAX_DETAILS_BYTES else None,
        request=actor.request,
        keep=actor.keep,
    )
    return result


def _detail(value: Any) -> Any:
    """A detail as it is told; of what is changed of an item only the names, for its data is the list's own."""
    if not isinstance(value, CheckedChanges):
        return value
    return [name for name, changed in msgspec.structs.asdict(value).items() if changed is not msgspec.UNSET]


def _count(result: Any) -> int | None:
    match result:
        case int():
            return int(result)
        case Added():
            return result.added
        case (int() as count, *_) if not isinstance(count, bool):
            return count
        case _:
            return None


def page(
    tx: Transaction,
    *,
    of: str | None = None,
    since: DurationOrTime | None = None,
    before: int = MAX_ID,
    limit: int = 1000,
) -> list[AuditRecord]:
    """What was done, the newest first, strictly before one; of one list, or in the last while or since a moment."""
    check_limit(limit, "records")
    delay, at = delay_or_time(since)
    begin = {"delay": None if since is None else delay, "moment": at}
    if of is None:
        rows = tx.rows("audit/page", before=before, limit=limit, **begin)
    else:
        rows = tx.rows("audit/page_list", list=of, before=before, limit=limit, **begin)
    return [_record(*row) for row in rows]


def _record(record: int, at: int, who: str, token: int | None, verb: str, *rest: Any) -> AuditRecord:
    of, count, details, request = rest
    decoded = None if details is None else msgspec.json.decode(details)
    return AuditRecord(record, to_datetime(at), who, token, verb, of, count, decoded, request)


def prune(tx: Transaction, *, limit: int = 1000) -> int:
    """Forget what is past its time; how many records."""
    return tx.run("audit/prune", limit=limit)
