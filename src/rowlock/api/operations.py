"""The table of operations. Routes, client, OpenAPI and the reference page are made from it."""

from rowlock.api import (
    bulk,
    claims,
    counters,
    gates,
    items,
    lists,
    records,
    schedules,
    service,
    sessions,
    tokens,
    topics,
    worker_sync,
)
from rowlock.api.uploads import ADD_ITEMS

OPERATIONS = (
    *service.OPERATIONS,
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
    *claims.OPERATIONS,
    *worker_sync.OPERATIONS,
    *tokens.OPERATIONS,
)
BY_VERB = {operation.verb: operation for operation in OPERATIONS if operation.verb is not None}
