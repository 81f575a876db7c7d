"""The table of routes: the server, its description, the reference page and the required roles are made from it."""

from rowlock.api.claims import CLAIM_ITEMS, CLOSE_CLAIM, SETTLE_CLAIM, SHOW_CLAIM, SYNC
from rowlock.api.items import (
    ABANDON_ITEMS,
    ADD_ITEMS,
    COUNT_ITEMS,
    DELETE_ITEMS,
    DONE_ITEMS,
    PAGE_ITEMS,
    RETRY_ITEMS,
    SAVE_ITEMS,
    SEARCH_ITEMS,
    SHOW_ITEM,
)
from rowlock.api.operations import OPERATIONS
from rowlock.api.service import DESCRIPTION, EVENTS, HEALTH, LIMITS, LIVEZ, METRICS, READYZ, SYSTEM
from rowlock.api.sessions import BEAT_SESSION, CLOSE_SESSION, OPEN_SESSION, POLL
from rowlock.api.tokens import CREATE_TOKEN, REVOKE_TOKEN
from rowlock.api.topics import RETRY_DELIVERIES, UNSUBSCRIBE
from rowlock.http import endpoints, events, iidy_compat, items, monitoring, sessions
from rowlock.http.routing import Route

ENDPOINTS = {
    LIVEZ: monitoring.livez,
    READYZ: monitoring.readyz,
    HEALTH: monitoring.health,
    SYSTEM: monitoring.system,
    LIMITS: monitoring.limits,
    METRICS: monitoring.metrics,
    EVENTS: events.events,
    DESCRIPTION: monitoring.description,
    ADD_ITEMS: items.add,
    PAGE_ITEMS: items.page,
    SHOW_ITEM: items.show,
    SEARCH_ITEMS: items.search,
    COUNT_ITEMS: items.count,
    SAVE_ITEMS: items.save,
    DONE_ITEMS: items.done,
    DELETE_ITEMS: items.delete,
    RETRY_ITEMS: items.change,
    ABANDON_ITEMS: items.change,
    OPEN_SESSION: sessions.open_session,
    BEAT_SESSION: sessions.beat,
    CLOSE_SESSION: sessions.close,
    CREATE_TOKEN: endpoints.create_token,
    REVOKE_TOKEN: endpoints.revoke_token,
    UNSUBSCRIBE: endpoints.unsubscribe,
    CLAIM_ITEMS: sessions.claim,
    SETTLE_CLAIM: sessions.settle,
    SHOW_CLAIM: sessions.show_claim,
    CLOSE_CLAIM: sessions.close_claim,
    SYNC: sessions.sync,
    POLL: sessions.poll,
    RETRY_DELIVERIES: endpoints.retry_deliveries,
}
"""Endpoints of operations that are not one run of their verb."""

SERVED = tuple(Route.of(each, ENDPOINTS.get(each, endpoints.respond)) for each in OPERATIONS)

ROUTES = (*SERVED, *iidy_compat.ROUTES)
