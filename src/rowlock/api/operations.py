"""The table of operations. Routes, client, OpenAPI and the reference page are made from it."""

from rowlock.api import bulk, counters, gates, items, lists, records, schedules, sessions, tokens, topics
from rowlock.api.uploads import ADD_ITEMS

OPERATIONS = (
    *lists.OPERATIONS,
    ADD_ITEMS,
    *items.OPERATIONS,
    *bulk.OPERATIONS,
    *gates.OPERATIONS,
    *counters.OPERATIONS,
    *schedules.OPERATIONS,
    *topics.OPERATIONS,
    *records.OPERATIONS,
    *sessions.OPERATIONS,
    *tokens.OPERATIONS,
)
BY_VERB = {operation.verb: operation for operation in OPERATIONS if operation.verb is not None}
