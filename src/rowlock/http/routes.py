"""The table of routes: the server, its description, the reference page and who may ask what are made of it."""

from typing import Any

from rowlock.http import claims, front, health, items, lists, sessions, tokens
from rowlock.http.forms import ItemDetails, ItemPage, NewItem, NewItems
from rowlock.http.limits import Limits
from rowlock.http.route import Route
from rowlock.model import Added, ListInfo, Settings
from rowlock.roles import Role

VIEWER, WORKER, OPERATOR, ADMIN = Role

HEALTH = (
    Route("GET", "/", front.page, VIEWER, {200: str}, type="text/html; charset=utf-8", scoped=True),
    Route("GET", "/livez", health.livez, None, {200: health.Alive}),
    Route("GET", "/readyz", health.readyz, None, {200: health.Ready, 503: health.Ready}, query=health.ReadyQuery),
    Route("GET", "/v1/limits", health.limits, None, {200: Limits}),
    Route("GET", "/openapi.json", health.description, None, {200: dict[str, Any]}, type="application/json"),
)

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
    Route("GET", "/v1/lists/{list}", lists.show, VIEWER, {200: ListInfo, 304: None}, versioned=True),
    Route("PUT", "/v1/lists/{list}", lists.put, OPERATOR, {200: ListInfo, 201: ListInfo}, Settings, versioned=True),
    Route("PATCH", "/v1/lists/{list}", lists.patch, OPERATOR, {200: ListInfo}, dict[str, Any], versioned=True),
    Route("DELETE", "/v1/lists/{list}", lists.drop, ADMIN, {200: lists.Dropped}, versioned=True),
    Route("POST", "/v1/lists/{list}/pause", lists.pause, OPERATOR, {200: lists.Changed}),
    Route("POST", "/v1/lists/{list}/resume", lists.resume, OPERATOR, {200: lists.Changed}),
    Route("GET", "/v1/lists/{list}/ranges", lists.split, VIEWER, {200: lists.Ranges}, query=lists.RangesQuery),
)

ITEMS = (
    Route(
        "POST",
        "/v1/lists/{list}/items",
        items.add,
        WORKER,
        {200: Added},
        NewItems,
        str | NewItem,
        query=items.AddQuery,
        streamed=True,
    ),
    Route("GET", "/v1/lists/{list}/items", items.page, VIEWER, {200: ItemPage}, query=items.PageQuery, streamed=True),
    Route("GET", "/v1/lists/{list}/items/{key}", items.show, VIEWER, {200: ItemDetails, 304: None}, versioned=True),
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
    ),
    Route("GET", "/v1/sessions", sessions.page, VIEWER, {200: sessions.SessionPage}),
    Route("PUT", "/v1/sessions/{session}", sessions.beat, WORKER, {200: sessions.Living}, sessions.Beat),
    Route("DELETE", "/v1/sessions/{session}", sessions.close, WORKER, {200: sessions.Closed}),
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
    Route("PUT", "/v1/claims/{claim}", claims.settle, WORKER, {200: claims.Settled}, claims.Settling),
)

TOKENS = (
    Route("GET", "/v1/tokens", tokens.page, ADMIN, {200: tokens.TokenPage}, query=tokens.TokenQuery),
    Route("POST", "/v1/tokens", tokens.create, ADMIN, {201: tokens.TokenMade}, tokens.TokenWanted, idempotent=False),
    Route("DELETE", "/v1/tokens/{id}", tokens.revoke, ADMIN, {200: tokens.Revoked}),
    Route("GET", "/v1/audit", tokens.audit, ADMIN, {200: tokens.AuditPage}, query=tokens.AuditQuery),
)

ROUTES = (*HEALTH, *LISTS, *ITEMS, *SESSIONS, *CLAIMS, *TOKENS)
