"""Handlers of sessions: bounded in length, visible within the caller's prefixes."""

import msgspec

from rowlock import remote_claims, sessions
from rowlock.api.sessions import Closed, SessionBeat, SessionLife, SessionOptions
from rowlock.errors import Invalid
from rowlock.http.auth import check_session, may_use_session
from rowlock.http.call import Answer, Call
from rowlock.model import to_datetime
from rowlock.names import is_token

MAX_HOLDER_BYTES = 200
MAX_DETAILS_BYTES = 4096


async def open_session(call: Call) -> Answer:
    """Open a session, or keep the one of that id alive."""
    options: SessionOptions = await call.document()
    holder = options.holder or f"http {call.client}"
    if not holder.isprintable() or len(holder.encode()) > MAX_HOLDER_BYTES:
        raise Invalid(f"holder must be up to {MAX_HOLDER_BYTES} bytes of printable text", "it is shown in a line")
    size = len(msgspec.json.encode(options.details))
    if size > MAX_DETAILS_BYTES:
        raise Invalid(f"details must be at most {MAX_DETAILS_BYTES} bytes, got {size}", "keep them elsewhere")
    session = options.session or call.service.engine.environment.token()
    if not is_token(session):
        raise Invalid("session must be 32 hexadecimal digits", "leave it out to be given one")
    until = await call.service.executor.write(
        remote_claims.open_session,
        session,
        holder=holder,
        expiry=_expiry(call, options.expiry),
        details=options.details,
        scope=call.principal.lists,
        seeks=options.seeks,
    )
    location = (b"location", f"{call.root_path}/v1/sessions/{session}".encode())
    return Answer(SessionLife(session, to_datetime(until)), 201, [location])


async def beat(call: Call) -> SessionLife:
    """Keep a session alive."""
    given: SessionBeat = await call.document()
    session = call.path["session"]
    expiry = None if given.expiry is None else _expiry(call, given.expiry)
    await check_session(call, session)
    until = await call.service.executor.write(remote_claims.beat, session, expiry=expiry)
    return SessionLife(session, to_datetime(until))


async def close(call: Call) -> Closed:
    """End a session, and what waits for it here."""
    session = call.path["session"]
    closed = await may_use_session(call, session) and await call.service.executor.write(sessions.close, session)
    if closed:
        call.service.session_pollers.close(session)
    return Closed(closed)


def _expiry(call: Call, expiry: str | float) -> int:
    return sessions.check_expiry(expiry, longest=round(call.service.limits.session_seconds * 1_000))
