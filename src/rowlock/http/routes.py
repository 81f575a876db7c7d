"""The table of routes: the server, its description, the reference page and who may ask what are made of it."""

from rowlock.api.claims import CLAIM_ITEMS, CLOSE_CLAIM, SETTLE_CLAIM, SHOW_CLAIM
from rowlock.api.items import ABANDON_ITEMS, ADD_ITEMS, DELETE_ITEMS, PAGE_ITEMS, RETRY_ITEMS, SHOW_ITEM
from rowlock.api.operations import OPERATIONS
from rowlock.api.service import (
    DESCRIPTION,
    EVENTS,
    FRONT_PAGE,
    HEALTH,
    LIMITS,
    LIVEZ,
    METRICS,
    READYZ,
)
from rowlock.api.sessions import BEAT_SESSION, CLOSE_SESSION, OPEN_SESSION
from rowlock.api.tokens import CREATE_TOKEN, REVOKE_TOKEN
from rowlock.api.topics import FAILED_DELIVERIES, RETRY_DELIVERIES, UNSUBSCRIBE
from rowlock.api.worker_sync import POLL, SYNC
from rowlock.http import (
    bulk,
    claims,
    endpoint,
    events,
    front,
    health,
    iidy,
    item_reads,
    metrics,
    sessions,
    tokens,
    topics,
    uploads,
    worker_sync,
)
from rowlock.http.route import Route

HANDLERS = {
    FRONT_PAGE: front.page,
    LIVEZ: health.livez,
    READYZ: health.readyz,
    HEALTH: health.health,
    LIMITS: health.limits,
    METRICS: metrics.metrics,
    EVENTS: events.events,
    DESCRIPTION: health.description,
    ADD_ITEMS: uploads.add,
    PAGE_ITEMS: item_reads.page,
    SHOW_ITEM: item_reads.show,
    DELETE_ITEMS: bulk.delete,
    RETRY_ITEMS: bulk.change,
    ABANDON_ITEMS: bulk.change,
    OPEN_SESSION: sessions.open_session,
    BEAT_SESSION: sessions.beat,
    CLOSE_SESSION: sessions.close,
    CREATE_TOKEN: tokens.create,
    REVOKE_TOKEN: tokens.revoke,
    UNSUBSCRIBE: topics.unsubscribe,
    CLAIM_ITEMS: claims.claim,
    SETTLE_CLAIM: claims.settle,
    SHOW_CLAIM: worker_sync.show_claim,
    CLOSE_CLAIM: worker_sync.close_claim,
    SYNC: worker_sync.sync,
    POLL: worker_sync.look,
    FAILED_DELIVERIES: topics.failed,
    RETRY_DELIVERIES: topics.retry,
}
"""What serves an operation that is not one run of its verb."""

SERVED = tuple(Route.of(each, HANDLERS.get(each, endpoint.respond)) for each in OPERATIONS)

ROUTES = (*SERVED, *iidy.ROUTES)
