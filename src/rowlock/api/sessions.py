"""Sessions over HTTP, and the polls of workers for lists that may have work."""

from datetime import datetime
from typing import Any

import msgspec

from rowlock import sessions
from rowlock.api.documents import Value, page
from rowlock.api.operation import Operation
from rowlock.model import Settings
from rowlock.roles import Role
from rowlock.sessions import ClaimInfo, SessionInfo

SESSIONS_PATH = "/v1/sessions"
SESSION_PATH = f"{SESSIONS_PATH}/{{session}}"


class SessionOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Options of a new session."""

    holder: str | None = None
    """A name for people; the address of the client if left out."""
    expiry: str | float = "60s"
    """How long it lives without a beat."""
    details: dict[str, Any] = {}
    session: str | None = None
    """Its id, if the client chooses it: 32 random hexadecimal digits. A repeated request opens the same session."""
    seeks: list[str] = []
    """Patterns of lists that it works, such as `resumes/*`; sessions with equal patterns share exclusive lists."""


class SessionBeat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sign of life of a session."""

    expiry: str | float | None = None
    """How long it lives without another beat; as long as when it was opened if left out."""


class SessionLife(msgspec.Struct, frozen=True):
    """A session, and when it expires without another beat."""

    session: str
    expires_at: datetime


class Closed(Value, frozen=True):
    """Whether there was anything to close."""

    closed: bool


class PollRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A poll for work."""

    wait: str | float = 0
    """How long to wait for a list that may have work."""


class PollResponse(msgspec.Struct, frozen=True):
    """Lists that may have work."""

    lists: dict[str, Settings]
    """Settings by the names of the lists."""
    held: list[str]
    """Exclusive lists that the session holds; they are among `lists` too."""
    more: bool
    """Whether there are more: poll again."""
    next: float | None
    """Seconds until the next list wakes by itself."""


SessionPage = page(
    "SessionPage", "sessions", of=SessionInfo, cells=("id", "holder", "opened_at", "expires_at", "claims", "items")
)

ClaimPage = page(
    "ClaimPage",
    "claims",
    of=ClaimInfo,
    cells=("list", "holder", "session", "gate", "priority", "low", "high", "taken", "remaining", "taken_at"),
)

OPEN_SESSION = Operation(
    None,
    "POST",
    SESSIONS_PATH,
    Role.WORKER,
    {201: SessionLife},
    body=SessionOptions,
    checks_prefixes=True,
    name="sessions.open_session",
)
BEAT_SESSION = Operation(
    None, "PUT", SESSION_PATH, Role.WORKER, SessionLife, body=SessionBeat, checks_prefixes=True, name="sessions.beat"
)
CLOSE_SESSION = Operation(sessions.close, "DELETE", SESSION_PATH, Role.WORKER, Closed, checks_prefixes=True)
POLL = Operation(
    None,
    "POST",
    f"{SESSION_PATH}/look",
    Role.WORKER,
    PollResponse,
    body=PollRequest,
    checks_prefixes=True,
    name="sessions.look",
)
OPERATIONS = (
    OPEN_SESSION,
    Operation(sessions.page, "GET", SESSIONS_PATH, Role.VIEWER, SessionPage),
    Operation(sessions.claims_page, "GET", "/v1/claims", Role.VIEWER, ClaimPage, name="claims.page"),
    BEAT_SESSION,
    CLOSE_SESSION,
    POLL,
)
