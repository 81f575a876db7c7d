"""Routes of sessions: who is at work."""

from datetime import datetime
from typing import Any

import msgspec

from rowlock import remote_claims, sessions
from rowlock.durations import milliseconds
from rowlock.errors import Invalid
from rowlock.http.auth import check_session, may_use_session
from rowlock.http.call import Answer, Call
from rowlock.http.pages import Page
from rowlock.http.texts import form, row
from rowlock.model import to_datetime
from rowlock.names import is_token
from rowlock.sessions import SessionInfo

EXPIRY = "60s"
HOLDER_BYTES = 200
DETAILS_BYTES = 4096


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A worker that begins."""

    holder: str | None = None
    """What people call it; its address if left out."""
    expiry: str | float = EXPIRY
    """How long it lives without a beat."""
    details: dict[str, Any] = {}
    session: str | None = None
    """Its id, if you choose it: 32 random hexadecimal digits. Asked again, it is the same session."""
    seeks: list[str] = []
    """Patterns of lists that it works, such as `resumes/*`; who seeks the same shares exclusive lists evenly."""


class Beat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A worker that goes on."""

    expiry: str | float | None = None
    """How long it lives without another; as long as when it was opened if left out."""


class Living(msgspec.Struct, frozen=True):
    """A session, and until when it lives if nothing more is heard of it."""

    session: str
    expires_at: datetime


class Closed(msgspec.Struct, frozen=True):
    """Whether there was anything to close."""

    closed: bool


class SessionPage(Page, frozen=True):
    """Who is at work."""

    sessions: list[SessionInfo]


async def open_session(call: Call) -> Answer:
    """Open a session to claim under; it lives for its expiry, and for as long again after each beat."""
    opening: Opening = await call.document()
    client = call.scope.get("client") or ("", 0)
    holder = opening.holder or f"http {client[0]}"
    if not holder.isprintable() or len(holder.encode()) > HOLDER_BYTES:
        raise Invalid("the holder cannot be shown in a line", f"give up to {HOLDER_BYTES} bytes of printable text")
    if len(msgspec.json.encode(opening.details)) > DETAILS_BYTES:
        raise Invalid(f"the details are larger than {DETAILS_BYTES} bytes", "keep them elsewhere")
    session = opening.session or call.service.engine.environment.token()
    if not is_token(session):
        raise Invalid("a session's id is 32 hexadecimal digits", "leave it out to be given one")
    until = await call.service.executor.write(
        remote_claims.open_session,
        session,
        holder=holder,
        expiry=_length(call, opening.expiry),
        details=opening.details,
        scope=call.principal.lists,
        seeks=opening.seeks,
    )
    location = f"{call.root_path}/v1/sessions/{session}".encode()
    return Answer(Living(session, to_datetime(until)), 201, [(b"location", location)])


async def beat(call: Call) -> Living:
    """Stay alive: a session that is not heard of in time is lost, and its claims with it."""
    given: Beat = await call.document()
    session = call.path["session"]
    expiry = None if given.expiry is None else _length(call, given.expiry)
    await check_session(call, session)
    return Living(session, to_datetime(await call.service.executor.write(remote_claims.beat, session, expiry=expiry)))


async def close(call: Call) -> Closed:
    """End a session: what it has claimed and not settled is free at once."""
    session = call.path["session"]
    closed = await may_use_session(call, session) and await call.service.executor.write(sessions.close, session)
    if closed:
        call.service.session_pollers.close(session)
    return Closed(closed)


async def page(call: Call) -> SessionPage:
    """Who is at work, the oldest first, and how much each has in hand."""
    return SessionPage(await call.service.executor.read(sessions.page_within, call.principal.lists))


def _length(call: Call, expiry: str | float) -> int:
    length, longest = milliseconds(expiry), call.service.limits.session_seconds
    if not 1_000 <= length <= longest * 1_000:
        raise Invalid(f"a session cannot live for {expiry!r}", f"give 1s to {longest / 3600:g}h")
    return length


@form(SessionPage)
def _rows(found: SessionPage) -> str:
    return "".join(
        row((each.id, each.holder, each.opened_at, each.expires_at, each.claims, each.items)) for each in found.sessions
    )
