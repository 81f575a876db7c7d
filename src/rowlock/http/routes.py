"""The table of routes: the server, its description, the reference page and who may ask what are made of it."""

from typing import Any

from rowlock.api.bulk import ABANDON_ITEMS, DELETE_ITEMS, RETRY_ITEMS
from rowlock.api.items import PAGE_ITEMS, SHOW_ITEM
from rowlock.api.operations import OPERATIONS
from rowlock.api.records import FAILED_DELIVERIES, RETRY_DELIVERIES
from rowlock.api.sessions import BEAT_SESSION, CLOSE_SESSION, OPEN_SESSION, Closed
from rowlock.api.tokens import CREATE_TOKEN, REVOKE_TOKEN
from rowlock.api.topics import UNSUBSCRIBE
from rowlock.api.uploads import ADD_ITEMS
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
from rowlock.http.limits import ServerLimits
from rowlock.http.route import Route
from rowlock.roles import Role

METRICS = "text/plain; version=0.0.4; charset=utf-8"
EVENTS = "text/event-stream"
VIEWER, WORKER, OPERATOR, ADMIN = Role

HEALTH = (
    Route.by_function("GET", "/", front.page, VIEWER, {200: str}, media_type="text/html; charset=utf-8", scoped=True),
    Route.by_function("GET", "/livez", health.livez, None, {200: health.Alive}),
    Route.by_function(
        "GET", "/readyz", health.readyz, None, {200: health.Ready, 503: health.Ready}, query=health.ReadyQuery
    ),
    Route.by_function("GET", "/v1/health", health.health, VIEWER, {200: health.Ready, 503: health.Ready}),
    Route.by_function("GET", "/v1/limits", health.limits, None, {200: ServerLimits}),
    Route.by_function("GET", "/metrics", metrics.metrics, VIEWER, {200: str}, media_type=METRICS, scoped=True),
    Route.by_function(
        "GET",
        "/v1/events",
        events.events,
        VIEWER,
        {200: str},
        query=events.EventsQuery,
        media_type=EVENTS,
        scoped=True,
        endless=True,
    ),
    Route.by_function(
        "GET", "/openapi.json", health.description, None, {200: dict[str, Any]}, media_type="application/json"
    ),
)

HANDLERS = {
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
    FAILED_DELIVERIES: topics.failed,
    RETRY_DELIVERIES: topics.retry,
}
"""What serves an operation that is not one run of its verb."""

SERVED = tuple(Route.of(each, HANDLERS.get(each, endpoint.respond)) for each in OPERATIONS)

CLAIMS = (
    Route.by_function(
        "POST",
        "/v1/sessions/{session}/look",
        worker_sync.look,
        WORKER,
        {200: worker_sync.PollResponse},
        worker_sync.PollRequest,
        streamed=True,
        scoped=True,
    ),
    Route.by_function(
        "POST",
        "/v1/lists/{list}/claims",
        claims.claim,
        WORKER,
        {200: claims.Claimed},
        claims.Claiming,
        idempotent=False,
        keyed=True,
        streamed=True,
    ),
    Route.by_function(
        "PUT", "/v1/claims/{claim}", claims.settle, WORKER, {200: claims.Settled}, claims.Settling, scoped=True
    ),
    Route.by_function(
        "GET",
        "/v1/claims/{claim}",
        worker_sync.left,
        WORKER,
        {200: claims.Claimed},
        query=worker_sync.SessionQuery,
        scoped=True,
    ),
    Route.by_function(
        "DELETE",
        "/v1/claims/{claim}",
        worker_sync.close,
        WORKER,
        {200: Closed},
        query=worker_sync.SessionQuery,
        scoped=True,
    ),
    Route.by_function(
        "POST",
        "/v1/claims",
        worker_sync.sync,
        WORKER,
        {200: worker_sync.SyncResponse},
        worker_sync.SyncRequest,
        scoped=True,
    ),
)

ONE, MANY = "lists/{list}/{key}", "batch/lists/{list}"
NAMES: dict[str, Any] = {"body": iidy.Names, "line": str, "iidy": True}
IIDY = (
    Route.by_function(
        "POST",
        f"/iidy/v1/{ONE}",
        iidy.post_one,
        WORKER,
        {200: iidy.Added, 201: iidy.Added},
        query=iidy.Action,
        idempotent=False,
        iidy=True,
    ),
    Route.by_function("GET", f"/iidy/v1/{ONE}", iidy.show, VIEWER, {200: iidy.Entry}, iidy=True),
    Route.by_function("DELETE", f"/iidy/v1/{ONE}", iidy.delete_one, WORKER, {200: iidy.Deleted}, iidy=True),
    Route.by_function(
        "POST",
        f"/iidy/v1/increment/{ONE}",
        iidy.increment_one,
        WORKER,
        {200: iidy.Incremented},
        idempotent=False,
        iidy=True,
    ),
    Route.by_function(
        "POST",
        f"/iidy/v1/{MANY}",
        iidy.post_many,
        WORKER,
        {200: iidy.Incremented, 201: iidy.Added},
        query=iidy.Action,
        idempotent=False,
        **NAMES,
    ),
    Route.by_function(
        "GET", f"/iidy/v1/{MANY}", iidy.page, VIEWER, {200: iidy.Entries}, query=iidy.PageQuery, iidy=True
    ),
    Route.by_function("DELETE", f"/iidy/v1/{MANY}", iidy.delete_many, WORKER, {200: iidy.Deleted}, **NAMES),
    Route.by_function(
        "POST",
        f"/iidy/v1/increment/{MANY}",
        iidy.increment_many,
        WORKER,
        {200: iidy.Incremented},
        idempotent=False,
        **NAMES,
    ),
    Route.by_function("HEAD", "/iidy/v1/lists/{list}", iidy.exists, VIEWER, {200: None}, iidy=True),
)

ROUTES = (*HEALTH, *SERVED, *CLAIMS, *IIDY)
