"""Authentication and authorization: the principal of a request, its role, and the lists its token is for."""

import asyncio
import ipaddress
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from rowlock import audit, claims, sessions
from rowlock.engine import Tokens
from rowlock.errors import (
    CrossSite,
    Invalid,
    NoSuchList,
    NoSuchSchedule,
    NoSuchTopic,
    NotAllowed,
    RowlockError,
    TokenRefused,
)
from rowlock.http.executor import VerbExecutor
from rowlock.outcomes import Move, Outcome
from rowlock.roles import INCLUDED_ROLES, Role, allows, covers
from rowlock.topics import list_of

if TYPE_CHECKING:
    from rowlock.http.requests import Request

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SCHEME = "bearer"
COOKIE = "rowlock_token"
"""The cookie that holds the token of a person who has signed in to the dashboard."""
SCOPED_NAMES = {"list": "{}", "counter": "{}", "schedule": "{}", "topic": list_of("{}", "")}
"""Path parameters that a token's list prefixes apply to, and the list name each stands for: a topic's record lists."""
AUDITED_ROLES = (Role.OPERATOR, Role.ADMIN)
NOT_AUDITED = nullcontext()
TOKEN_USE_SECONDS = 60.0
"""How often the last use of tokens is stored."""

log = logging.getLogger("rowlock.http")

_CREATE_HINT = "make one with `rowlock token create`, and send it as: Authorization: Bearer rl_…"


class Principal(msgspec.Struct, frozen=True):
    """The caller of a request: name, role, and the lists it may use."""

    name: str
    role: Role | None
    lists: tuple[str, ...] = ()
    """Prefixes of the lists that it may see and change; empty for all lists."""
    token: int | None = None

    def may_touch(self, name: str) -> bool:
        """Return whether it may see and change the list of that name."""
        return covers(self.lists, name)

    def check(self, name: str) -> None:
        """Refuse a list outside its prefixes, with the same answer whether the list exists or not."""
        if not self.may_touch(name):
            what = f"this token is for lists that begin with {', '.join(self.lists)}, not for {name[:200]!r}"
            raise NotAllowed(what, "use another name, or another token")


class Credentials(msgspec.Struct, frozen=True):
    """Roles of the caller for a mounted application, where Starlette's `request.auth` expects them."""

    scopes: tuple[str, ...]
    """The roles that the caller has; empty where no token is needed."""


CREDENTIALS = {
    role: Credentials(tuple(each.value for each in Role if each in may)) for role, may in INCLUDED_ROLES.items()
}

ANONYMOUS = Principal("nobody", None)
"""The caller of a route that needs no token."""

LOCAL_ADMIN = Principal("anybody", Role.ADMIN)
"""The caller on loopback while there are no tokens: it could open the database file as well."""


Authorize = Callable[["Request"], Awaitable[Principal]]


def checked(authorize: Authorize) -> Authorize:
    """Return a function that finds callers by that of an outer application, and checks them as it checks tokens."""

    async def authorize_and_check(request: "Request") -> Principal:
        if request.route.role is None:
            return await authorize(request)
        headers = request.headers
        if b"authorization" not in headers and (b"origin" in headers or b"sec-fetch-site" in headers):
            refuse_foreign_page(request)
        principal = await authorize(request)
        check(request, principal)
        return principal

    return authorize_and_check


class Authenticator:
    """Finds the principal of a request by its token; on loopback, admits any caller until the first token exists."""

    def __init__(self, tokens: Tokens, executor: VerbExecutor, *, loopback: bool) -> None:
        self._tokens = tokens
        self._executor = executor
        self._token_needed = not loopback
        self._saving_use: asyncio.Task[None] | None = None

    async def authorize(self, request: "Request") -> Principal:
        """Return the principal of the request; refuse it if it may not make this request."""
        if request.route.role is None:
            return ANONYMOUS
        authorization = request.headers.get(b"authorization")
        if authorization is not None and [name for name, _ in request.scope["headers"]].count(b"authorization") > 1:
            raise Invalid("there must be one Authorization header, got several", "send one token")
        if authorization:
            principal = await self.identify(authorization.decode("latin-1"))
            check(request, principal)
            return principal
        if b"cookie" in request.headers and (token := session_cookie(request)):
            refuse_foreign_page(request)
            principal = await self.identify(f"{SCHEME} {token}")
            check(request, principal)
            return principal
        if self._token_needed or (
            not self._tokens.known_absent and await self._executor.run_in_thread(self._tokens.exist)
        ):
            # Tokens are never deleted, only revoked: once there was one, there is no need to look again.
            self._token_needed = True
            raise TokenRefused("this needs a token, and none was sent", _CREATE_HINT)
        refuse_cross_site(request)
        return LOCAL_ADMIN

    async def identify(self, authorization: str) -> Principal:
        """Return the principal of an Authorization header; TokenRefused if its token is not valid."""
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() != SCHEME:
            raise TokenRefused("the Authorization header holds no Bearer token", _CREATE_HINT)
        text = text.strip()
        info = self._tokens.recall(text)
        if info is None:
            info = await self._executor.run_in_thread(lambda: self._tokens.authenticate(text))
        if self._saving_use is None:
            self._saving_use = asyncio.create_task(self._save_token_use_later())
        name = f"{info.label} ({info.shown})" if info.label else info.shown
        return Principal(name, info.role, info.lists, info.id)

    async def _save_token_use_later(self) -> None:
        await asyncio.sleep(TOKEN_USE_SECONDS)
        self._saving_use = None
        await self.save_token_use()

    async def save_token_use(self) -> None:
        """Store which tokens were used; failures are logged only, because nothing depends on it."""
        if self._saving_use is not None:
            self._saving_use.cancel()
            self._saving_use = None
        try:
            await self._executor.run_in_thread(self._tokens.note_used)
        except RowlockError as error:
            log.info("the last use of tokens was not noted", extra={"code": error.code})


def check(request: "Request", principal: Principal) -> None:
    """Refuse a request that the principal's role, or the list prefixes of its token, do not allow."""
    route = request.route
    if not allows(principal.role, route.role):
        what = f"{route.method} {route.path} needs the role {route.role}, and this token has the role {principal.role}"
        raise NotAllowed(what, "ask for a token of that role", role=route.role)
    if not principal.lists:
        return
    if named := [
        written.format(request.path_params[noun])
        for noun, written in SCOPED_NAMES.items()
        if noun in request.path_params
    ]:
        principal.check(named[0])
    elif not route.scoped:
        # A route that does not heed prefixes is closed to tokens that have some.
        what = f"{route.method} {route.path} is of no list, and this token is for some lists only"
        raise NotAllowed(what, "ask for a token without prefixes")


def audit_context(request: "Request", need: Role | None = None, *, verb: str = "") -> AbstractContextManager[None]:
    """Return a block whose writes are audited, if the request needs an operator or an admin and may write.

    A page writes by operations only, which are audited themselves.
    """
    if request.route.is_page or request.method in SAFE_METHODS or (need or request.route.role) not in AUDITED_ROLES:
        return NOT_AUDITED
    if request.principal is ANONYMOUS or getattr(request.query, "dry_run", False):
        return NOT_AUDITED
    return audit.acting(
        request.principal.name,
        token=request.principal.token,
        request=request.id.decode(),
        verb=verb or request.route.name,
        of=request.path_params.get("list"),
        keep=request.service.audit_keep,
    )


def redact(error: RowlockError, request: "Request") -> RowlockError:
    """Return the error without hints that name lists, schedules or topics outside the principal's prefixes."""
    if request.principal.lists and isinstance(error, NoSuchList | NoSuchSchedule | NoSuchTopic):
        return type(error)(error.what, "", **error.fields)
    return error


def refuse_cross_site(request: "Request") -> None:
    """Refuse a request that a page of another site makes a browser send: loopback is open to people, not to pages."""
    host = request.header(b"host")
    if not is_local_host(host):
        raise CrossSite(f"this service is not {host[:100]!r}", "ask it by its address, or by localhost")
    origin = request.header(b"origin")
    if origin and origin not in (f"http://{host}", f"https://{host}") and request.method not in SAFE_METHODS:
        raise CrossSite(f"a page of {origin[:100]!r} may not ask this", "ask from this address, or without a browser")
    if request.header(b"sec-fetch-site") in ("cross-site", "same-site") and not _is_navigation(request):
        raise CrossSite("a page of another site may not ask this", "ask from this address, or without a browser")


def session_cookie(request: "Request") -> str:
    """Return the token in the cookie of a person who has signed in; empty without such a cookie."""
    cookies = request.headers.get(b"cookie")
    pairs = [each.partition("=") for each in cookies.decode("latin-1").split(";")] if cookies else []
    return next((value.strip() for name, _, value in pairs if name.strip() == COOKIE), "")


def refuse_foreign_page(request: "Request") -> None:
    """Refuse a write that a page of another origin makes a browser send: a cookie would go with it."""
    if request.method in SAFE_METHODS:
        return
    site, origin = request.header(b"sec-fetch-site"), request.header(b"origin")
    host = request.header(b"host")
    # Behind a proxy the host may differ from the page's: browsers themselves tell whether the origin is the same.
    if site != "same-origin" and (site or origin not in (f"http://{host}", f"https://{host}")):
        raise CrossSite(f"a page of {origin[:100]!r} may not change anything here", "use the pages of this address")


def _is_navigation(request: "Request") -> bool:
    """Return whether a user followed a link: the user sees the answer, and the page with the link does not."""
    return request.method in SAFE_METHODS and request.header(b"sec-fetch-mode") == "navigate"


@lru_cache(256)
def is_local_host(host: str) -> bool:
    """Return whether a Host header names this machine by address or as localhost, which DNS cannot be made to fake."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    name = name.strip("[]").lower()
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def may_use_session(request: "Request", session: str) -> bool:
    """Return whether a session works only lists that the principal may use."""
    lists = request.principal.lists
    return not lists or await request.executor.read(sessions.is_within, session, lists)


async def check_session(request: "Request", session: str) -> None:
    """Refuse a session that works lists outside the principal's prefixes, as if it did not exist."""
    check_session_id(session)
    if not await may_use_session(request, session):
        raise claims.lost(session)


def check_session_id(session: str) -> None:
    """Refuse a session id that a database could not even read."""
    if "\0" in session:
        raise claims.lost(session)


def check_outcomes(outcomes: Iterable[Outcome], principal: Principal) -> None:
    """Refuse an item that would wait for a list that the principal may not use: it would reveal that list's end."""
    for outcome in outcomes if principal.lists else ():
        if isinstance(outcome, Move) and isinstance(outcome.until, str):
            principal.check(outcome.until)
