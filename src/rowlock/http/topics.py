"""Handlers of topics: what is addressed by a number or a pair, and what takes many transactions."""

from typing import Any

from rowlock.api.items import Retried
from rowlock.api.topics import FailedDelivery, FailedDeliveryQuery, Unsubscribed
from rowlock.errors import InvalidQuery
from rowlock.http.call import Call
from rowlock.topics import records, subscriptions


async def unsubscribe(call: Call) -> Unsubscribed:
    """Remove a subscription by its number."""
    number = call.path["subscription"]
    if not number.isascii() or not number.isdecimal() or len(number) > 18:
        raise InvalidQuery(f"a subscription must be a number, got {number[:100]!r}", "list them to see their numbers")
    return Unsubscribed(await call.service.executor.write(subscriptions.unsubscribe, call.path["topic"], [int(number)]))


async def failed(call: Call) -> Any:
    """Return deliveries that failed, strictly after a list and key."""
    query: FailedDeliveryQuery = call.query
    found = await call.service.executor.read(
        records.failed, call.path["topic"], after=(query.list, query.key), limit=query.count
    )
    return call.route.document([FailedDelivery(*each) for each in found])


async def retry(call: Call) -> Retried:
    """Retry all failed deliveries, a page in each transaction."""
    executor, count, after = call.service.executor, 0, ("", "")
    while found := await executor.read(records.failed, call.path["topic"], after=after):
        count += await executor.write(records.retry, found)
        after = found[-1]
    return Retried(count)
