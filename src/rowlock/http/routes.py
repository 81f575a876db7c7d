"""The table of routes: the server, its description, the reference page and who may ask what are made of it."""

from typing import Any

from rowlock.counters import CounterInfo
from rowlock.http import (
    changes,
    claims,
    counters,
    events,
    front,
    gates,
    health,
    iidy,
    items,
    lists,
    metrics,
    records,
    schedules,
    sessions,
    tokens,
    topics,
    worker_sync,
)
from rowlock.http.forms import ItemPage, NewItem, NewItems
from rowlock.http.limits import ServerLimits
from rowlock.http.route import Route
from rowlock.model import Added, ItemDetails, ListInfo, Settings, TopicInfo
from rowlock.roles import Role

METRICS = "text/plain; version=0.0.4; charset=utf-8"
EVENTS = "text/event-stream"
VIEWER, WORKER, OPERATOR, ADMIN = Role

HEALTH = (
    Route("GET", "/", front.page, VIEWER, {200: str}, type="text/html; charset=utf-8", scoped=True),
    Route("GET", "/livez", health.livez, None, {200: health.Alive}),
    Route("GET", "/readyz", health.readyz, None, {200: health.Ready, 503: health.Ready}, query=health.ReadyQuery),
    Route("GET", "/v1/health", health.health, VIEWER, {200: health.Ready, 503: health.Ready}),
    Route("GET", "/v1/limits", health.limits, None, {200: ServerLimits}),
    Route("GET", "/metrics", metrics.metrics, VIEWER, {200: str}, type=METRICS, scoped=True),
    Route(
        "GET",
        "/v1/events",
        events.events,
        VIEWER,
        {200: str},
        query=events.EventsQuery,
        type=EVENTS,
        scoped=True,
        endless=True,
    ),
    Route("GET", "/openapi.json", health.description, None, {200: dict[str, Any]}, type="application/json"),
)

LIST = "/v1/lists/{list}"
LISTS = (
    Route(
        "GET",
        "/v1/lists",
        lists.page,
        VIEWER,
        {200: lists.ListPage},
        query=lists.PageQuery,
        streamed=True,
        scoped=True,
    ),
    Route("GET", LIST, lists.show, VIEWER, {200: ListInfo, 304: None}, versioned=True),
    Route("PUT", LIST, lists.put, OPERATOR, {200: ListInfo, 201: ListInfo}, Settings, versioned=True),
    Route("PATCH", LIST, lists.patch, OPERATOR, {200: ListInfo}, dict[str, Any], versioned=True),
    Route("DELETE", LIST, lists.drop, ADMIN, {200: lists.Dropped}, versioned=True),
    Route(
        "POST",
        f"{LIST}/rename",
        lists.rename,
        OPERATOR,
        {200: ListInfo},
        lists.NewName,
        idempotent=False,
        keyed=True,
        versioned=True,
    ),
    Route("POST", f"{LIST}/pause", lists.pause, OPERATOR, {200: lists.Changed}, versioned=True),
    Route("POST", f"{LIST}/resume", lists.resume, OPERATOR, {200: lists.Changed}, versioned=True),
    Route("GET", f"{LIST}/ranges", lists.split, VIEWER, {200: lists.Ranges}, query=lists.RangesQuery),
    Route("GET", f"{LIST}/failures", lists.groups, VIEWER, {200: lists.FailurePage}, query=lists.GroupQuery),
    Route("GET", f"{LIST}/failures/keys", lists.saying, VIEWER, {200: lists.KeyPage}, query=lists.SayingQuery),
)

ITEMS_OF, ITEM = f"{LIST}/items", f"{LIST}/items/{{key}}"
KEYS: dict[str, Any] = {"takes": changes.Keys, "lines": str | changes.KeyLine, "keys": True}
ITEMS = (
    Route(
        "POST",
        ITEMS_OF,
        items.add,
        WORKER,
        {200: Added},
        NewItems,
        str | NewItem,
        keys=True,
        query=items.AddQuery,
        keyed=True,
        streamed=True,
    ),
    Route("GET", ITEMS_OF, items.page, VIEWER, {200: ItemPage}, query=items.PageQuery, streamed=True),
    Route("GET", ITEM, items.show, VIEWER, {200: ItemDetails, 304: None}, versioned=True),
    Route("PUT", ITEM, items.put, WORKER, {200: ItemDetails, 201: ItemDetails}, items.ItemData, versioned=True),
    Route("PATCH", ITEM, items.patch, WORKER, {200: ItemDetails}, items.ItemChanges, versioned=True),
    Route("DELETE", ITEM, items.remove, WORKER, {200: changes.Deleted}, versioned=True),
    Route("GET", f"{ITEM}/results", items.results, VIEWER, {200: items.ResultPage}, query=items.HistoryQuery),
    Route("GET", f"{ITEM}/failures", items.failed, VIEWER, {200: items.FailurePage}, query=items.HistoryQuery),
    Route(
        "POST",
        f"{ITEMS_OF}/increment",
        changes.increment,
        WORKER,
        {200: changes.Incremented},
        query=changes.IncrementQuery,
        idempotent=False,
        keyed=True,
        **{**KEYS, "takes": changes.Failing},
    ),
    Route(
        "POST", f"{ITEMS_OF}/delete", changes.delete, WORKER, {200: changes.Deleted}, query=changes.ChangeQuery, **KEYS
    ),
    Route(
        "POST", f"{ITEMS_OF}/retry", changes.retry, OPERATOR, {200: changes.Retried}, query=changes.ChangeQuery, **KEYS
    ),
    Route(
        "POST",
        f"{ITEMS_OF}/abandon",
        changes.abandon,
        OPERATOR,
        {200: changes.Abandoned},
        query=changes.ChangeQuery,
        **KEYS,
    ),
)

SESSIONS = (
    Route(
        "POST",
        "/v1/sessions",
        sessions.open_session,
        WORKER,
        {201: sessions.Living},
        sessions.Opening,
        idempotent=False,
        scoped=True,
    ),
    Route("GET", "/v1/sessions", sessions.page, VIEWER, {200: sessions.SessionPage}, scoped=True),
    Route("PUT", "/v1/sessions/{session}", sessions.beat, WORKER, {200: sessions.Living}, sessions.Beat, scoped=True),
    Route(
        "POST",
        "/v1/sessions/{session}/look",
        worker_sync.look,
        WORKER,
        {200: worker_sync.PollResponse},
        worker_sync.PollRequest,
        streamed=True,
        scoped=True,
    ),
    Route("DELETE", "/v1/sessions/{session}", sessions.close, WORKER, {200: sessions.Closed}, scoped=True),
)

CLAIMS = (
    Route(
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
    Route("PUT", "/v1/claims/{claim}", claims.settle, WORKER, {200: claims.Settled}, claims.Settling, scoped=True),
    Route(
        "GET",
        "/v1/claims/{claim}",
        worker_sync.left,
        WORKER,
        {200: claims.Claimed},
        query=worker_sync.SessionQuery,
        scoped=True,
    ),
    Route(
        "DELETE",
        "/v1/claims/{claim}",
        worker_sync.close,
        WORKER,
        {200: sessions.Closed},
        query=worker_sync.SessionQuery,
        scoped=True,
    ),
    Route(
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
NAMES: dict[str, Any] = {"takes": iidy.Names, "lines": str, "keys": True, "iidy": True}
IIDY = (
    Route(
        "POST",
        f"/iidy/v1/{ONE}",
        iidy.post_one,
        WORKER,
        {200: iidy.Added, 201: iidy.Added},
        query=iidy.Action,
        idempotent=False,
        iidy=True,
    ),
    Route("GET", f"/iidy/v1/{ONE}", iidy.show, VIEWER, {200: iidy.Entry}, iidy=True),
    Route("DELETE", f"/iidy/v1/{ONE}", iidy.delete_one, WORKER, {200: iidy.Deleted}, iidy=True),
    Route(
        "POST",
        f"/iidy/v1/increment/{ONE}",
        iidy.increment_one,
        WORKER,
        {200: iidy.Incremented},
        idempotent=False,
        iidy=True,
    ),
    Route(
        "POST",
        f"/iidy/v1/{MANY}",
        iidy.post_many,
        WORKER,
        {200: iidy.Incremented, 201: iidy.Added},
        query=iidy.Action,
        idempotent=False,
        **NAMES,
    ),
    Route("GET", f"/iidy/v1/{MANY}", iidy.page, VIEWER, {200: iidy.Entries}, query=iidy.PageQuery, iidy=True),
    Route("DELETE", f"/iidy/v1/{MANY}", iidy.delete_many, WORKER, {200: iidy.Deleted}, **NAMES),
    Route(
        "POST",
        f"/iidy/v1/increment/{MANY}",
        iidy.increment_many,
        WORKER,
        {200: iidy.Incremented},
        idempotent=False,
        **NAMES,
    ),
    Route("HEAD", "/iidy/v1/lists/{list}", iidy.exists, VIEWER, {200: None}, iidy=True),
)

GATES = (
    Route("GET", f"{LIST}/gates", gates.show, VIEWER, {200: gates.GatePage}),
    Route("PUT", f"{LIST}/gate", gates.open_gate, OPERATOR, {200: lists.Changed}, gates.GateWanted),
    Route("POST", f"{LIST}/seal", gates.seal, OPERATOR, {200: lists.Changed}, gates.Sealing),
    Route("POST", f"{LIST}/complete", gates.complete, OPERATOR, {200: lists.Changed}),
    Route("POST", f"{LIST}/reopen", gates.reopen, OPERATOR, {200: lists.Changed}),
)

COUNTER = "/v1/counters/{counter}"
COUNTERS = (
    Route(
        "GET",
        "/v1/counters",
        counters.page,
        VIEWER,
        {200: counters.CounterPage},
        query=counters.CounterQuery,
        scoped=True,
    ),
    Route("GET", COUNTER, counters.show, VIEWER, {200: CounterInfo}),
    Route("POST", COUNTER, counters.take, WORKER, {200: counters.Numbers}, counters.Take, idempotent=False, keyed=True),
    Route("POST", f"{COUNTER}/raise", counters.raise_to, OPERATOR, {200: CounterInfo}, counters.Raise),
)

SCHEDULE = "/v1/schedules/{schedule}"
SET = {200: schedules.ScheduleSet, 201: schedules.ScheduleSet}
SCHEDULES = (
    Route(
        "GET",
        "/v1/schedules",
        schedules.page,
        VIEWER,
        {200: schedules.SchedulePage},
        query=schedules.ScheduleQuery,
        scoped=True,
    ),
    Route("POST", "/v1/schedules", schedules.create, OPERATOR, SET, schedules.NewSchedule, scoped=True),
    Route("GET", SCHEDULE, schedules.show, VIEWER, {200: schedules.ScheduleShown, 304: None}, versioned=True),
    Route("PUT", SCHEDULE, schedules.put, OPERATOR, SET, schedules.SchedulePlan, versioned=True),
    Route("DELETE", SCHEDULE, schedules.remove, OPERATOR, {200: schedules.Removed}, versioned=True),
    Route("POST", f"{SCHEDULE}/pause", schedules.pause, OPERATOR, {200: lists.Changed}, versioned=True),
    Route("POST", f"{SCHEDULE}/resume", schedules.resume, OPERATOR, {200: lists.Changed}, versioned=True),
    Route("POST", f"{SCHEDULE}/trigger", schedules.trigger, OPERATOR, {200: Added}, idempotent=False, keyed=True),
    Route("GET", f"{SCHEDULE}/ticks", schedules.ticks, VIEWER, {200: schedules.TickPage}, query=schedules.TickQuery),
)

TOPIC = "/v1/topics/{topic}"
WISHES, RECORDS = f"{TOPIC}/subscriptions", f"{TOPIC}/records"
TOPICS = (
    Route("GET", "/v1/topics", topics.page, VIEWER, {200: topics.TopicPage}, query=topics.TopicQuery, scoped=True),
    Route("GET", TOPIC, topics.show, VIEWER, {200: topics.TopicShown}),
    Route("PUT", TOPIC, topics.put, OPERATOR, {200: TopicInfo, 201: TopicInfo}, topics.TopicWanted),
    Route("POST", WISHES, topics.subscribe, WORKER, {200: topics.SubscribedPage}, topics.Wish, topics.Wish),
    Route("GET", WISHES, topics.listed, VIEWER, {200: topics.SubscriptionPage}, query=topics.SubscriptionQuery),
    Route("DELETE", f"{WISHES}/{{subscription}}", topics.end, WORKER, {200: topics.Unsubscribed}),
    Route("POST", f"{TOPIC}/unsubscribe", topics.unsubscribe, WORKER, {200: topics.Unsubscribed}, topics.Leaving),
    Route(
        "POST",
        f"{TOPIC}/matches",
        topics.matches,
        WORKER,
        {200: topics.SubscriptionPage},
        topics.Sample,
        query=topics.MatchQuery,
    ),
    Route(
        "POST",
        RECORDS,
        records.publish,
        WORKER,
        {200: records.PublishedPage},
        records.NewRecord,
        records.NewRecord,
        query=records.PublishQuery,
        idempotent=False,
        keyed=True,
    ),
    Route("GET", RECORDS, records.page, VIEWER, {200: records.RecordPage}, query=records.RecordQuery),
    Route(
        "GET",
        f"{TOPIC}/notifications",
        records.told,
        VIEWER,
        {200: records.NotificationPage},
        query=records.NotificationQuery,
    ),
    Route("POST", f"{TOPIC}/forget", records.forget, WORKER, {200: lists.Changed}, records.Forgetting),
    Route("GET", f"{TOPIC}/failures", records.failed, VIEWER, {200: records.FailedPage}, query=records.FailedQuery),
    Route("POST", f"{TOPIC}/retry", records.retry, OPERATOR, {200: changes.Retried}),
)

TOKENS = (
    Route("GET", "/v1/tokens", tokens.page, ADMIN, {200: tokens.TokenPage}, query=tokens.TokenQuery),
    Route("POST", "/v1/tokens", tokens.create, ADMIN, {201: tokens.TokenMade}, tokens.TokenWanted, idempotent=False),
    Route("DELETE", "/v1/tokens/{id}", tokens.revoke, ADMIN, {200: tokens.Revoked}),
    Route("GET", "/v1/audit", tokens.audit, ADMIN, {200: tokens.AuditPage}, query=tokens.AuditQuery),
)

ROUTES = (*HEALTH, *LISTS, *ITEMS, *SESSIONS, *CLAIMS, *GATES, *COUNTERS, *SCHEDULES, *TOPICS, *IIDY, *TOKENS)
