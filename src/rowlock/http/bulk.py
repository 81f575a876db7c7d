"""Bulk operations: items named by keys, or all that have failed, in many transactions."""

from collections.abc import Callable, Sequence
from typing import Any

from rowlock import failures, items
from rowlock.api.items import BulkQuery
from rowlock.api.operation import name_of
from rowlock.errors import Invalid
from rowlock.http.auth import acting
from rowlock.http.call import Call
from rowlock.http.endpoint import read_body
from rowlock.roles import Role

Verb = Callable[[Any, str, Sequence[str]], int]


async def delete(call: Call) -> Any:
    """Take items off the list: those given as done, all failed ones as abandoned."""
    return await _answered(call, items.done if call.query.state is None else items.abandon)


async def change(call: Call) -> Any:
    """Run the operation's verb on the items given, or on all that have failed."""
    return await _answered(call, call.route.verb)


async def _answered(call: Call, verb: Verb) -> Any:
    query: BulkQuery = call.query
    count = await (_change_failed(call, verb) if query.state is not None else _change_given(call, verb))
    return call.route.gives(count, query.dry_run)


async def _change_given(call: Call, verb: Verb) -> int:
    query, name, executor = call.query, call.path["list"], call.service.executor
    if query.error is not None:
        raise Invalid("error= is only for all failed items", "say state=failed too, or send keys alone")
    keys = (await read_body(call)).keys
    if query.dry_run:
        return await executor.read(
            failures.count_retryable if verb is items.retry else failures.count_existing, name, keys
        )
    return await executor.write(verb, name, keys)


async def _change_failed(call: Call, verb: Verb) -> int:
    call.require(Role.OPERATOR)
    if call.body.unread:
        raise Invalid("keys were sent, and all failed items asked for", "give one of them")
    change = failures.count_given if call.query.dry_run else verb
    changed, after = 0, ""
    with acting(call, Role.OPERATOR, verb=name_of(verb)):
        # Some at a time, each in a transaction: a million failed items are no reason for others to wait.
        while True:
            count, last = await call.service.executor.write(
                failures.change_failed, call.path["list"], change=change, after=after, error=call.query.error
            )
            changed += count
            if last is None:
                return changed
            after = last
