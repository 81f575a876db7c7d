"""The audit log: who did what to which list, written in the transaction of the change itself.

Verbs that run inside `acting(who)` are recorded; others are not, and cost nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from rowlock.db import Tx
from rowlock.db.transaction import verb_name
from rowlock.durations import Duration, DurationOrTime, delay_or_time, milliseconds
from rowlock.errors import Invalid
from rowlock.group_commit import groupable_like
from rowlock.item_input import CheckedChanges
from rowlock.json_codec import encode_json
from rowlock.model import Added
from rowlock.names import check_limit

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_KEEP = "90d"
MAX_ACTOR_BYTES = 200
DETAILS = ("to", "changes", "gate", "role", "lists", "label", "schedule", "token")
"""Arguments of a verb that its record holds: short ones, neither keys nor data."""
MAX_DETAILS_BYTES = 1_000
MAX_ID = 2**63 - 1


class Actor(msgspec.Struct, frozen=True):
    """On whose behalf verbs run."""

    who: str
    token: int | None = None
    """The id of the access token, if there was one."""
    request: str | None = None
    """The id of the request, as in logs."""
    verb: str | None = None
    """The name of the operation, if the verb that runs is only a part of it."""
    of: str | None = None
    """The list of the operation, if the verb that runs does not name it."""
    keep: int = milliseconds(DEFAULT_KEEP)


class AuditRecord(msgspec.Struct, frozen=True):
    """One operation in the audit log."""

    id: int
    at: datetime
    who: str
    token: int | None
    verb: str
    list: str | None
    count: int | None
    """How many items or other rows it changed, if that is known."""
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
    """Record the verbs that run in the block under a name."""
    if not who or not who.isprintable() or len(who.encode()) > MAX_ACTOR_BYTES:
        raise Invalid(f"who must be 1 to {MAX_ACTOR_BYTES} bytes of printable text, got {who[:50]!r}")
    before = _actor.set(Actor(who, token, request, verb, of, milliseconds(keep)))
    try:
        yield
    finally:
        _actor.reset(before)


def audited(verb: Callable[Concatenate[Tx, P], T]) -> Callable[Concatenate[Tx, P], T]:
    """Return a verb that also writes its record if an actor is set; else the verb itself."""
    actor = _actor.get()
    if actor is None:
        return verb
    recorded = groupable_like(verb)(partial(_recorded, actor, verb))
    vars(recorded).update(__module__=verb.__module__, __name__=verb.__name__)  # for a history of operations
    return recorded


def _recorded(actor: Actor, verb: Callable[..., T], /, tx: Tx, *args: Any, **kwargs: Any) -> T:
    from inspect import signature  # only recorded verbs need it

    result = verb(tx, *args, **kwargs)
    arguments = signature(verb).bind(tx, *args, **kwargs).arguments
    given = {name: _detail(arguments[name]) for name in DETAILS if arguments.get(name)}
    details = encode_json(given) if given else None
    tx.run(
        "audit/record",
        who=actor.who,
        token=actor.token,
        verb=actor.verb or verb_name(verb),
        list=actor.of or arguments.get("name"),
        count=_count(result),
        details=details if details and len(details.encode()) <= MAX_DETAILS_BYTES else None,
        request=actor.request,
        keep=actor.keep,
    )
    return result


def _detail(value: Any) -> Any:
    """Return a detail as it is recorded; of an item's changes only the names of the fields, not the data."""
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
    tx: Tx,
    *,
    of: str | None = None,
    since: DurationOrTime | None = None,
    before: int = MAX_ID,
    limit: int = 1000,
) -> list[AuditRecord]:
    """Return records, the newest first, strictly before one; of one list, or since a time or duration ago."""
    check_limit(limit, "records")
    delay, at = delay_or_time(since)
    begin = {"delay": None if since is None else delay, "moment": at}
    if of is None:
        return tx.structs(AuditRecord, "audit/page", before=before, limit=limit, **begin)
    return tx.structs(AuditRecord, "audit/page_list", list=of, before=before, limit=limit, **begin)


def prune(tx: Tx, *, limit: int = 1000) -> int:
    """Delete records that are past their time, and return how many."""
    return tx.run("audit/prune", limit=limit)
