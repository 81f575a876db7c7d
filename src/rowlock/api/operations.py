"""The table of operations. Routes, client, OpenAPI and the reference page are made from it."""

from rowlock.api import claims, counters, items, lists, results, schedules, service, sessions, tokens, topics

MODULES = (service, lists, items, results, counters, schedules, topics, sessions, claims, tokens)
OPERATIONS = tuple(operation for module in MODULES for operation in module.OPERATIONS)
BY_VERB = {verb: each for each in OPERATIONS for verb in (each.verb, *each.also) if verb is not None}
"""The operation by which a client runs a verb."""
