"""Routes that change many items at once: done, abandoned, retried, one more failed attempt."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from rowlock import failures, items
from rowlock.db import Transaction
from rowlock.errors import Invalid
from rowlock.http import kinds
from rowlock.http.auth import acting
from rowlock.http.bodies import decoded
from rowlock.http.call import Answer, Call
from rowlock.http.kinds import Kind
from rowlock.http.once import once
from rowlock.http.texts import form
from rowlock.roles import Role

Verb = Callable[[Transaction, str, Sequence[str]], int]

DryRun = Annotated[bool, Meta(description="Say how many it would be, and do nothing.")]


class Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keys of items."""

    keys: list[str]


class Failing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keys of items that have failed once more."""

    keys: list[str]
    error: str | None = None
    """What went wrong, where it is too long for the query."""


class KeyLine(msgspec.Struct, frozen=True):
    """The key of an item; what else a line says of it is ignored, so that a page can be sent back."""

    key: str


class ChangeQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which items, where no keys are sent."""

    state: Annotated[Literal["failed"], Meta(description="All failed items instead of keys in the body.")] | None = None
    error: Annotated[str, Meta(description="Of those only whose last error says this.")] | None = None
    dry_run: DryRun = False


class IncrementQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept with the items."""

    error: Annotated[str, Meta(description="What went wrong.")] | None = None


class Deleted(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many items were taken off."""

    deleted: int
    dry_run: bool = False


class Abandoned(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many items were given up."""

    abandoned: int
    dry_run: bool = False


class Retried(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many items are ready again."""

    retried: int
    dry_run: bool = False


class Incremented(msgspec.Struct, frozen=True):
    """How many items have one more failed attempt."""

    incremented: int


async def delete(call: Call) -> Deleted:
    """Take items off the list that are done; with `state=failed`, give up all failed ones.

    The tally counts the first as done, the others as abandoned. To give up all failed ones needs the role operator.
    """
    verb: Verb = items.done if call.query.state is None else items.abandon
    return Deleted(await _changed(call, verb), call.query.dry_run)


async def abandon(call: Call) -> Abandoned:
    """Give up on items: off the list, undone."""
    return Abandoned(await _changed(call, items.abandon), call.query.dry_run)


async def retry(call: Call) -> Retried:
    """Make failed and delayed items ready at once, with a clean count of attempts."""
    return Retried(await _changed(call, items.retry), call.query.dry_run)


async def increment(call: Call) -> Answer:
    """Note one failed attempt for each item that is there.

    Asked again it counts again; under an Idempotency-Key it does not.
    """
    name, (keys, error) = call.path["list"], await _read_failing(call)
    if not call.header(b"idempotency-key"):
        return Answer(Incremented(await call.service.executor.write(items.increment, name, keys, error=error)))
    work = partial(_increment, name=name, keys=keys, error=error)
    count, headers = await once(call, work, asked=[name, keys, error])
    return Answer(Incremented(count), headers=headers)


async def _read_failing(call: Call) -> tuple[list[str], str | None]:
    if call.sent is not Kind.JSON:
        return await read_keys(call), call.query.error
    given: Failing = await call.document()
    return list(dict.fromkeys(given.keys)), call.query.error if given.error is None else given.error


def _increment(tx: Transaction, *, name: str, keys: Sequence[str], error: str | None) -> int:
    return items.increment(tx, name, keys, error=error)


async def _changed(call: Call, verb: Verb) -> int:
    query: ChangeQuery = call.query
    if query.state is None:
        if query.error is not None:
            raise Invalid("error= is only for all failed items", "say state=failed too, or send keys alone")
        keys = await read_keys(call)
        if query.dry_run:
            would = failures.count_retryable if verb is items.retry else failures.count_existing
            return await call.service.executor.read(would, call.path["list"], keys)
        return await call.service.executor.write(verb, call.path["list"], keys)
    call.require(Role.OPERATOR)
    if call.body.unread:
        raise Invalid("keys were sent, and all failed items asked for", "give one of them")
    with acting(call, Role.OPERATOR):
        return await _change_failed(call, failures.count_given if query.dry_run else verb)


async def _change_failed(call: Call, verb: Verb) -> int:
    """Some at a time, each in a transaction: a million failed items are no reason for others to wait."""
    changed, after = 0, ""
    while True:
        count, last = await call.service.executor.write(
            failures.change_failed, call.path["list"], change=verb, after=after, error=call.query.error
        )
        changed += count
        if last is None:
            return changed
        after = last


async def read_keys(call: Call) -> list[str]:
    """The keys in the body: lines, `{"keys": […]}`, or a key or an item to a line; each once."""
    if call.sent is Kind.JSON:
        given: Keys = await call.document()
        return list(dict.fromkeys(given.keys))
    text = await call.body.whole(call.service.limits.document_bytes)
    if call.sent is Kind.TEXT:
        kinds.refuse_unlabelled(call.header(b"content-type"), text)
        return list(dict.fromkeys(lines_of(text)))
    numbered = enumerate(text.split(b"\n"), 1)
    told = (decoded(line, str | KeyLine, line=number) for number, line in numbered if line.strip())
    return list(dict.fromkeys(each if isinstance(each, str) else each.key for each in told))


def lines_of(text: bytes) -> list[str]:
    """The lines that are not blank."""
    try:
        return [line.rstrip("\r") for line in text.decode().split("\n") if line.strip()]
    except UnicodeDecodeError:
        raise Invalid("the body is not UTF-8 text", "convert it first, with iconv for example") from None


@form(Deleted)
@form(Abandoned)
@form(Retried)
def _line(counted: Any) -> str:
    (name, count), *_ = msgspec.structs.asdict(counted).items()
    return f"{'would_be_' if counted.dry_run else ''}{name}\t{count}\n"
