"""Routes of access tokens and of the audit: for admins."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock.audit import MAX_ID, AuditRecord
from rowlock.errors import NoSuchToken
from rowlock.http.call import Answer, Call
from rowlock.http.forms import moment_of
from rowlock.http.pages import link
from rowlock.http.texts import form, row
from rowlock.roles import Role
from rowlock.tokens import NewToken, TokenInfo

PAGE = 1_000

Count = Annotated[int, Meta(description="At most so many.")]


class TokenDetails(msgspec.Struct, frozen=True):
    """A token, without its text."""

    id: int
    shown: str
    """Its first and last letters: enough to know it by."""
    label: str
    role: Role
    lists: tuple[str, ...]
    """Prefixes of the names that it is for; none for all."""
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """To a minute or so."""
    revoked_at: datetime | None
    state: str
    """`live`, `expired` or `revoked`."""


class TokenPage(msgspec.Struct, frozen=True):
    """A page of tokens."""

    tokens: list[TokenDetails]
    next: int | None
    """What to give as `after` for the next page; none if this is the last."""


class TokenQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which tokens."""

    count: Count = PAGE
    after: Annotated[int, Meta(ge=0, le=MAX_ID, description="Only those made after the one of this id.")] = 0
    ended: Annotated[bool, Meta(description="Also those that have expired or were revoked.")] = False


class TokenWanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a new token shall be for."""

    role: Role
    lists: tuple[str, ...] = ()
    label: str = ""
    expires: str | None = None
    """A while, as `30d`, or a time as ISO 8601 writes it; never if left out."""


class TokenMade(msgspec.Struct, frozen=True):
    """A new token: the only time that its text is told."""

    token: str
    info: TokenDetails


class Revoked(msgspec.Struct, frozen=True):
    """Whether it was not revoked already."""

    revoked: bool


class AuditQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which records."""

    count: Count = PAGE
    before: (
        Annotated[int, Meta(ge=0, le=MAX_ID, description="Only those written before the one of this id.")] | None
    ) = None
    list: Annotated[str, Meta(description="Only what was done to this list.")] | None = None
    since: Annotated[str, Meta(description="The last `2h`, or since a time as ISO 8601 writes it.")] | None = None


class AuditPage(msgspec.Struct, frozen=True):
    """A page of records, the newest first."""

    records: list[AuditRecord]
    next: int | None
    """What to give as `before` for the next page; none if this is the last."""


def details(info: TokenInfo) -> TokenDetails:
    """A token as it is told."""
    state = "live" if info.live else "revoked" if info.revoked_at else "expired"
    told = {name: value for name, value in msgspec.structs.asdict(info).items() if name != "live"}
    return TokenDetails(**told, state=state)


async def page(call: Call) -> Answer:
    """The tokens in the order they were made."""
    query: TokenQuery = call.query
    tokens = call.service.engine.tokens
    found = await call.service.executor.run_in_thread(
        lambda: tokens.page(after=query.after, limit=query.count, ended=query.ended)
    )
    after = found[-1].id if found and len(found) == query.count else None
    more = link(call, None if after is None else str(after), count=query.count, ended=query.ended or None)
    return Answer(TokenPage(list(map(details, found)), after), headers=more)


async def create(call: Call) -> Answer:
    """Make a token; its text is in this answer and can never be had again.

    The first token closes the service: from then on every request must show one, also on loopback.
    """
    wanted: TokenWanted = await call.document()
    tokens, expires = call.service.engine.tokens, moment_of(wanted.expires)
    made: NewToken = await call.service.executor.run_in_thread(
        lambda: tokens.create(wanted.role, lists=wanted.lists, label=wanted.label, expires=expires)
    )
    return Answer(TokenMade(made.text, details(made.info)), 201)


async def revoke(call: Call) -> Revoked:
    """End a token; every server refuses it within a second."""
    tokens, token = call.service.engine.tokens, _number(call.path["id"])
    return Revoked(await call.service.executor.run_in_thread(lambda: tokens.revoke(token)))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise NoSuchToken(f"there is no token {text[:100]!r}", "GET /v1/tokens tells their ids")
    return int(text)


async def audit(call: Call) -> Answer:
    """Who did what: writes of operators and admins, the newest first."""
    query: AuditQuery = call.query
    before = MAX_ID if query.before is None else query.before
    since, engine = moment_of(query.since), call.service.engine
    found = await call.service.executor.run_in_thread(
        lambda: engine.audit(of=query.list, since=since, before=before, limit=query.count)
    )
    return Answer(AuditPage(found, found[-1].id if found and len(found) == query.count else None))


@form(TokenMade)
def _alone(made: TokenMade) -> str:
    return f"{made.token}\n"


@form(TokenPage)
def _rows(page: TokenPage) -> str:
    return "".join(row(_columns(each)) for each in page.tokens)


def _columns(each: TokenDetails) -> tuple[Any, ...]:
    times = (each.created_at, each.expires_at, each.last_used_at)
    return each.id, each.shown, each.role, " ".join(each.lists), each.state, *times, each.label


@form(AuditPage)
def _records(page: AuditPage) -> str:
    return "".join(row((each.at, each.who, each.verb, each.list, each.count, each.request)) for each in page.records)
