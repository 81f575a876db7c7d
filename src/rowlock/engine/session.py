"""Sessions: a live worker that claims. It sends heartbeats by itself until it is closed."""

import os
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import msgspec

from rowlock import claims, retry_policy, sessions
from rowlock.claims import ClaimedItems
from rowlock.durations import Duration
from rowlock.engine.claim import Claim
from rowlock.engine.claimer import Claimer
from rowlock.engine.list import List
from rowlock.engine.settings_cache import SettingsCache
from rowlock.errors import OutcomeUnknown, RowlockError
from rowlock.model import Settings

if TYPE_CHECKING:
    from rowlock.engine.handles import Handles


def this_process() -> str:
    """Return the machine and process, as people know them."""
    return f"{os.uname().nodename}:{os.getpid()}"


class Session:
    """A live worker. `lost` is set when its row is gone: stop working, nothing more can be settled."""

    _server_searches: ClassVar[bool] = False
    _settings_seconds: ClassVar[float] = 0.0
    """How long a list's settings are used before a claim reads them again."""

    def __init__(
        self,
        engine: "Handles",
        *,
        holder: str | None,
        expiry: Duration,
        details: Any,
        beats: bool = True,
        session: str | None = None,
    ) -> None:
        self._engine = engine
        self._expiry = sessions.check_expiry(expiry)
        self._details = details
        self._beats = beats
        self._settings = SettingsCache(engine, engine.environment, seconds=self._settings_seconds)
        self.closing = threading.Event()
        """Set when the session begins to close."""
        self._heart: threading.Thread | None = None
        self.id = session or engine.environment.token()
        self.holder = holder or this_process()
        self.lost = threading.Event()
        self._claimer = Claimer(engine, self.id, heartbeat=beats, server_searches=self._server_searches)
        self._claims: WeakValueDictionary[str, Claim] = WeakValueDictionary()
        """Claims that were made here and are still in use, by token."""
        self._unended: dict[str, Claim] = {}
        """Claims whose blocks have ended before the caller's transaction that settles them, by token."""

    def __enter__(self) -> "Session":
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, *, seeks: Sequence[str] = ()) -> "Session":
        """Store the session and start its heartbeat, if it has one; `seeks` are the patterns of the lists it works."""
        terms: dict[str, Any] = {"expiry": self._expiry, "details": self._details, "seeks": seeks, "beats": self._beats}
        self._engine.run(sessions.open_session, self.id, holder=self.holder, **terms)
        if self._beats:
            self._heart = threading.Thread(target=self._keep_alive, name=f"rowlock heart {self.id[:8]}", daemon=True)
            self._heart.start()
        return self

    def beat(self) -> None:
        """Extend the session by its expiry, where no heartbeat does it; StaleSession if it has ended."""
        if not self._engine.run(sessions.beat, self.id, expiry=self._expiry):
            self.lost.set()
            raise claims.lost(self.id)

    def close(self) -> None:
        """End the session; what it has claimed is free at once."""
        self.closing.set()
        if self._heart is not None:
            self._heart.join()
        if not self.lost.is_set():
            self._engine.run(sessions.close, self.id)

    def _keep_alive(self) -> None:
        # By a connection of its own: a busy pool must not look like death.
        with self._engine.dedicated_connection() as writer:
            while not self.closing.wait(self._expiry / 3_000):
                try:
                    alive = writer.run(sessions.beat, self.id, expiry=self._expiry)
                except RowlockError:
                    continue  # only the row's deletion is death; an error says nothing about the row
                if not alive:
                    self.lost.set()
                    return

    def claim(self, what: List | str, *, limit: int = 100) -> Iterator[Claim]:
        """Yield claim after claim until nothing is ready; each is settled when the next is asked for."""
        claim = self.take(what, limit=limit)
        while claim is not None:
            try:
                yield claim
            except BaseException:
                claim._end()
                raise
            claim = self._settle_and_take(claim, limit=limit)

    def _settle_and_take(self, claim: Claim, *, limit: int) -> Claim | None:
        """End a claim and make the next, in one pipeline if all of it is plainly done and no search for gaps is due."""
        name = claim.taken.list
        if not (self._beats and claim._is_plainly_done() and self._claimer.can_skip_search(name)):
            claim._end()
            return self.take(name, limit=limit)
        terms: dict[str, Any] = {"limit": limit, "attempts": claim._rules.attempts}
        try:
            [verdicts], claimed = self._claimer.settle_and_claim([claim._settle_done()], name, **terms)
        except OutcomeUnknown:
            verdicts = claimed = None
        if verdicts is not None:
            claim._note_all_done(verdicts)
        if claimed is None:
            if verdicts is None:
                claim.settle()
            return self.take(name, limit=limit)
        self._claimer.remember(claimed)
        following = self._claim_of(claimed, claim._rules, plain=True)
        try:
            if verdicts is None:
                claim.settle()  # the pipeline found the claim gone: this is answered as before, or refused
        except RowlockError:
            following.settle()
            raise
        return following

    def take(self, what: List | str, *, limit: int = 100) -> Claim | None:
        """Claim up to `limit` items of the list once; None if nothing is ready."""
        self._end_claims()
        name = what if isinstance(what, str) else what.name
        settings = self._settings[name]
        rules = _rules(settings)
        claimed = self._claimer.claim(name, limit=limit, attempts=rules.attempts)
        if claimed is None:
            return None
        if not self._beats:
            self._note_handed(claimed)
        return self._claim_of(claimed, rules, plain=not settings.keeps_done)

    def _note_handed(self, claimed: ClaimedItems) -> None:
        """Store what was claimed: another process will settle it, and must not settle what comes between later."""
        try:
            self._engine.run(sessions.note_handed, self.id, claimed)
        except BaseException:
            self._claimer.abandon(claimed)  # no caller gets it: the next claim ends it first
            raise

    def _end_claims(self) -> None:
        """End the claims whose blocks have ended, as far as the transactions that settle them have."""
        for token in list(self._unended):
            claim = self._unended.pop(token, None)  # in one step: another thread may end it
            if claim is not None:
                claim._end()

    def held(self, token: str) -> Claim:
        """Return a claim under this session by its token, made here or by another process, with what is left of it.

        Its items are those that were claimed, as far as this process or the session's row knows: of a session without a
        heartbeat, or of a claim that was made here and is still in use. Else they are all items in its interval now,
        which nobody else can claim while it lives. StaleClaim if it has ended.
        """
        claimed = self._engine.read(sessions.held, self.id, token)
        known = self._claims.get(token)
        if known is not None:
            items = [item for item in claimed.items if item.position in known._keys]
            claimed = msgspec.structs.replace(claimed, items=items)
        return self._claim_of(claimed, _rules(self._settings[claimed.list]), plain=False)

    def _claim_of(self, claimed: ClaimedItems, rules: retry_policy.Policy, *, plain: bool) -> Claim:
        claim = Claim(self, claimed, rules=rules, plain=plain)
        self._claims.setdefault(claimed.token, claim)
        return claim


def _rules(settings: Settings) -> retry_policy.Policy:
    return retry_policy.policy(settings.attempts, settings.backoff)
