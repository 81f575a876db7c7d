"""The handle of access tokens: created, listed, revoked, and checked against a cache of a second."""

import threading
from collections.abc import Iterable

import msgspec

from rowlock import tokens
from rowlock.engine.protocols import Runner
from rowlock.environment import Environment
from rowlock.errors import TokenRefused, Unavailable
from rowlock.model import DurationOrTime
from rowlock.roles import read_role
from rowlock.tokens import LiveTokens, NewToken, TokenInfo

CACHE_SECONDS = 1.0
"""How long a snapshot is used: so soon a revocation reaches every process."""


class TokenSnapshot(msgspec.Struct, frozen=True):
    """All live tokens as they were read once."""

    begun: float
    """When reading began, by the monotonic clock: no token in it was revoked before."""
    live: LiveTokens
    known: dict[str, TokenInfo]
    """Those that were used, decoded, by digest."""


class Tokens:
    """The access tokens of a database.

    `authenticate` caches for a second: a token that is revoked, by any process, is refused by every process within one.
    If the database cannot be reached after that, every token is refused.
    """

    def __init__(self, runner: Runner, environment: Environment) -> None:
        self._runner = runner
        self._now = environment.monotonic
        self._snapshot: TokenSnapshot | None = None
        self._failed: tuple[float, Unavailable] | None = None
        self._lock = threading.Lock()
        self._used: set[int] = set()

    def create(
        self, role: str, *, lists: str | Iterable[str] = (), label: str = "", expires: DurationOrTime | None = None
    ) -> NewToken:
        """Create a token; only this returns its text. `lists` are prefixes of names, `expires` a duration or time."""
        chosen = read_role(role)
        prefixes = tokens.read_prefixes(lists, chosen)
        tokens.check_label(label)
        text = tokens.generate()
        # The verb gets no secret: its arguments stand in histories and logs.
        info = self._runner.run(
            tokens.create,
            tokens.digest(text),
            shown=tokens.masked(text),
            role=chosen,
            lists=prefixes,
            label=label,
            expires=expires,
        )
        self._snapshot = None
        return NewToken(text, info)

    def page(self, *, after: int = 0, limit: int = 1000, ended: bool = False) -> list[TokenInfo]:
        """Return tokens in the order of their ids, strictly after one; with `ended` also revoked and expired ones."""
        return self._runner.read(tokens.page, after=after, limit=limit, ended=ended)

    def revoke(self, token: int) -> bool:
        """Revoke a token by its id; return whether that changed anything."""
        revoked = self._runner.run(tokens.revoke, token)
        self._snapshot = None
        return revoked

    def exist(self) -> bool:
        """Return whether there is or ever was a token, cached for a second: then every request needs one."""
        return self._snapshot_since(self._now() - CACHE_SECONDS).live.exist

    @property
    def known_absent(self) -> bool:
        """Whether the cache says that there never was a token."""
        snapshot = self._cached()
        return snapshot is not None and not snapshot.live.exist

    def authenticate(self, text: str) -> TokenInfo:
        """Return the token with this text; TokenRefused if it is unknown, revoked or expired."""
        if not tokens.well_formed(text):
            raise TokenRefused("what was given is not a token: mistyped, or cut off", "check it letter by letter")
        asked = self._now()
        found = self.recall(text) or self._find(self._snapshot_since(asked - CACHE_SECONDS), text)
        # It may have been created a moment ago: a snapshot that begins now shows it, and is shared by all that wait.
        found = found or self._find(self._snapshot_since(asked), text)
        if found is None:
            what = f"the token {tokens.masked(text)} is not known here: revoked, expired, or of another database"
            raise TokenRefused(what, "ask the operator of this service for one: rowlock token create")
        return found

    def recall(self, text: str) -> TokenInfo | None:
        """Return the token with this text if it is cached; else None, and `authenticate` reads the database."""
        snapshot = self._cached()
        return None if snapshot is None else self._find(snapshot, text)

    def note_used(self) -> int:
        """Store which tokens were used since the last call; return how many were not noted within a minute before."""
        used, self._used = self._used, set()
        return self._runner.run(tokens.touch, used) if used else 0

    def _cached(self) -> TokenSnapshot | None:
        snapshot = self._snapshot
        return snapshot if snapshot is not None and self._now() - snapshot.begun < CACHE_SECONDS else None

    def _find(self, snapshot: TokenSnapshot, text: str) -> TokenInfo | None:
        digest, live = tokens.digest(text), snapshot.live
        info = snapshot.known.get(digest)
        if info is None and digest in live.rows:
            [info] = live.decode([live.rows[digest]])
            snapshot.known[digest] = info
        if info is None or self._has_expired(info, snapshot):
            return None
        self._used.add(info.id)
        return info

    def _has_expired(self, info: TokenInfo, snapshot: TokenSnapshot) -> bool:
        """Return whether a token has expired since it was read, by the database's clock and our monotonic one."""
        if info.expires_at is None:
            return False
        return self._now() - snapshot.begun >= (info.expires_at - snapshot.live.read_at).total_seconds()

    def _snapshot_since(self, since: float) -> TokenSnapshot:
        """Return a snapshot that began after `since`; one is read at a time, and shared."""
        asked = self._now()
        if (snapshot := self._snapshot) is not None and snapshot.begun > since:
            return snapshot
        with self._lock:
            if (snapshot := self._snapshot) is not None and snapshot.begun > since:
                return snapshot
            if self._failed is not None and self._failed[0] >= asked:
                # Another thread has just waited for the database in vain: do not wait again.
                why = self._failed[1]
                raise type(why)(why.what, why.hint, **why.fields)
            return self._read()

    def _read(self) -> TokenSnapshot:
        begun = self._now()
        try:
            live = self._runner.read(tokens.live_rows)
        except Unavailable as why:
            self._failed = self._now(), why
            raise
        self._snapshot = TokenSnapshot(begun, live, {})
        return self._snapshot
