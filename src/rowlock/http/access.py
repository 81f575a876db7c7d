"""Who asks, and whether they may: one seam for every route."""

import asyncio
import ipaddress
import logging
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache

from rowlock import audit
from rowlock.engine import Tokens
from rowlock.errors import CrossSite, NoSuchList, NoSuchSchedule, NoSuchTopic, NotAllowed, RowlockError, TokenRefused
from rowlock.http.bridge import Bridge
from rowlock.http.call import Call
from rowlock.http.who import ANYBODY, NOBODY, Who, holder
from rowlock.roles import Role, allows
from rowlock.topics.records import list_of

SAFE = ("GET", "HEAD", "OPTIONS")
SCHEME = "bearer"
HELD = {"list": "{}", "counter": "{}", "schedule": "{}", "topic": list_of("{}", "")}
"""What stands in paths by a name that prefixes are held against, and as what: a topic as the lists of its records."""
RECORDED = (Role.OPERATOR, Role.ADMIN)
NOT_RECORDED = nullcontext()
NOTE_SECONDS = 60.0
"""How often the last use of tokens is written down."""

log = logging.getLogger("rowlock.http")

_MAKE = "make one with `rowlock token create`, and send it as: Authorization: Bearer rl_…"


class Door:
    """Lets in whoever shows a live token; without one, on loopback, anybody as long as there never was a token."""

    def __init__(self, tokens: Tokens, bridge: Bridge, *, loopback: bool) -> None:
        self._tokens = tokens
        self._bridge = bridge
        self._loopback = loopback
        self._closed = not loopback
        self._noting: asyncio.Task[None] | None = None

    async def authorize(self, call: Call) -> Who:
        """Who asks this, if they may."""
        if call.route.role is None:
            return NOBODY
        who = await self._identify(call)
        check(call, who)
        return who

    async def _identify(self, call: Call) -> Who:
        given = call.header(b"authorization")
        if given:
            return await self._of_token(given)
        if self._closed or (not self._tokens.known_absent and await self._bridge.thread(self._tokens.exist)):
            # Where there was a token there always was one: nobody need look again.
            self._closed = True
            raise TokenRefused("this needs a token, and none was sent", _MAKE)
        refuse_cross_site(call)
        return ANYBODY

    async def _of_token(self, given: str) -> Who:
        scheme, _, text = given.partition(" ")
        if scheme.lower() != SCHEME:
            raise TokenRefused("the Authorization header holds no Bearer token", _MAKE)
        text = text.strip()
        info = self._tokens.recall(text)
        if info is None:
            info = await self._bridge.thread(lambda: self._tokens.authenticate(text))
        if self._noting is None:
            self._noting = asyncio.create_task(self._note_later())
        return holder(info)

    async def _note_later(self) -> None:
        await asyncio.sleep(NOTE_SECONDS)
        self._noting = None
        await self.note()

    async def note(self) -> None:
        """Write down which tokens were used; a courtesy, so that nobody waits for it and no failure of it matters."""
        if self._noting is not None:
            self._noting.cancel()
            self._noting = None
        try:
            await self._bridge.thread(self._tokens.note_used)
        except RowlockError as error:
            log.info("the last use of tokens was not noted", extra={"code": error.code})


def check(call: Call, who: Who) -> None:
    """Refuse what is not for them: by their role, and by the list that the path names."""
    route = call.route
    if not allows(who.role, route.role):
        what = f"{route.method} {route.path} needs the role {route.role}, and this token has the role {who.role}"
        raise NotAllowed(what, "ask for a token of that role", role=route.role)
    if not who.lists:
        return
    if named := [written.format(call.path[noun]) for noun, written in HELD.items() if noun in call.path]:
        who.check(named[0])
    elif not route.scoped:
        # Whoever adds a route without a thought of prefixes has closed it to those who have some.
        what = f"{route.method} {route.path} is of no list, and this token is for some lists only"
        raise NotAllowed(what, "ask for a token without prefixes")


def acting(call: Call, need: Role | None = None) -> AbstractContextManager[None]:
    """A block whose writes are recorded, if it needs an operator or an admin and is meant to write."""
    if call.method in SAFE or (need or call.route.role) not in RECORDED:
        return NOT_RECORDED
    if call.who is NOBODY or getattr(call.query, "dry_run", False):
        return NOT_RECORDED
    who, request = call.who, call.id.decode()
    return audit.acting(
        who.name,
        token=who.token,
        request=request,
        verb=call.route.name,
        of=call.path.get("list"),
        keep=call.service.audit_keep,
    )


def veiled(error: RowlockError, call: Call) -> RowlockError:
    """The error as they may read it: a list, a schedule or a topic that is not theirs is not suggested either."""
    if call.who.lists and isinstance(error, NoSuchList | NoSuchSchedule | NoSuchTopic):
        return type(error)(error.what, "", **error.fields)
    return error


def refuse_cross_site(call: Call) -> None:
    """Refuse what a page of another site makes a browser ask: loopback is open to people here, not to their pages."""
    host = call.header(b"host")
    if not is_here(host):
        raise CrossSite(f"this service is not {host[:100]!r}", "ask it by its address, or by localhost")
    origin = call.header(b"origin")
    if origin and origin not in (f"http://{host}", f"https://{host}") and call.method not in SAFE:
        raise CrossSite(f"a page of {origin[:100]!r} may not ask this", "ask from this address, or without a browser")
    if call.header(b"sec-fetch-site") in ("cross-site", "same-site") and not _is_visit(call):
        raise CrossSite("a page of another site may not ask this", "ask from this address, or without a browser")


def _is_visit(call: Call) -> bool:
    """Whether somebody followed a link: they see what is there, and the page that they came from does not."""
    return call.method in SAFE and call.header(b"sec-fetch-mode") == "navigate"


@lru_cache(256)
def is_here(host: str) -> bool:
    """Whether a Host header names this machine itself: else a name on the net could be made to lead here."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    name = name.strip("[]").lower()
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
