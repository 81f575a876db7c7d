"""A session in a user's hands: a live worker that claims; it beats by itself until it is closed."""

import os
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import msgspec

from rowlock import attempts, claims, leases, lists, sessions
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.durations import Duration, milliseconds
from rowlock.engine.claim import Claim
from rowlock.engine.claim_hints import ClaimHints
from rowlock.engine.list import List
from rowlock.errors import OutcomeUnknown, RowlockError
from rowlock.model import Settings

if TYPE_CHECKING:
    from rowlock.engine.handles import Handles


def this_process() -> str:
    """Who we are, as people know it: machine and process."""
    return f"{os.uname().nodename}:{os.getpid()}"


class Session:
    """A live worker. `lost` is set when its row is gone: stop working, nothing more can be settled."""

    def __init__(
        self, engine: "Handles", *, holder: str | None, expiry: Duration, details: Any, beats: bool = True
    ) -> None:
        self._engine = engine
        self._expiry = milliseconds(expiry)
        self._details = details
        self._beats = beats
        self._hints = ClaimHints()
        self.closing = threading.Event()
        self._heart: threading.Thread | None = None
        self.id = engine.environment.token()
        self.holder = holder or this_process()
        self.lost = threading.Event()
        self.doubtful: list[str] = []
        """Tokens of claims that were asked for, until they are answered."""
        self._claims: WeakValueDictionary[str, Claim] = WeakValueDictionary()
        """The claims that were made here and are still in somebody's hands, by token."""
        self._unended: list[Claim] = []
        """Claims whose blocks have ended before a transaction of the caller's that settles them."""

    def __enter__(self) -> "Session":
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, *, seeks: Sequence[str] = ()) -> "Session":
        """Enter the session and start its heart, if it has one; `seeks` are the patterns of the lists it works."""
        terms: dict[str, Any] = {"expiry": self._expiry, "details": self._details, "seeks": seeks, "beats": self._beats}
        self._engine.run(sessions.open_session, self.id, holder=self.holder, **terms)
        if self._beats:
            self._heart = threading.Thread(target=self._keep_alive, name=f"rowlock heart {self.id[:8]}", daemon=True)
            self._heart.start()
        return self

    def beat(self) -> None:
        """Stay alive for another while, where no heart does it; StaleSession if it is no more."""
        if not self._engine.run(sessions.beat, self.id, expiry=self._expiry):
            self.lost.set()
            raise claims.lost(self.id)

    def close(self) -> None:
        """End gently: what is claimed is free at once."""
        self.closing.set()
        if self._heart is not None:
            self._heart.join()
        if not self.lost.is_set():
            self._engine.run(sessions.close, self.id)

    def _keep_alive(self) -> None:
        # A heart of its own connection: a busy pool must not look like death.
        with self._engine.dedicated_connection() as writer:
            while not self.closing.wait(self._expiry / 3_000):
                try:
                    alive = writer.run(sessions.beat, self.id, expiry=self._expiry)
                except RowlockError:
                    continue  # only the row's deletion is death; who is away, or refuses to answer, cannot tell
                if not alive:
                    self.lost.set()
                    return

    def claim(self, what: List | str, *, limit: int = 100) -> Iterator[Claim]:
        """Claim after claim until nothing is ready; each is settled when the next is asked for."""
        claim = self.take(what, limit=limit)
        while claim is not None:
            try:
                yield claim
            except BaseException:
                claim._end()
                raise
            claim = self._settle_and_take(claim, limit=limit)

    def _settle_and_take(self, claim: Claim, *, limit: int) -> Claim | None:
        """End a claim and make the next: in one trip, if all of it is plainly done and no hole is to be looked for."""
        name = claim.taken.list
        if not (self._beats and claim._plainly_done() and self._may_be_short(name)):
            claim._end()
            return self.take(name, limit=limit)
        self.close_doubtful()
        ask = partial(self.ask_anew, name, limit=limit, attempts_allowed=claim._rules.attempts)
        try:
            verdicts, taken = self._engine.pipeline(claim._all_done(), claims.Taking(ask))
        except OutcomeUnknown:
            verdicts = taken = None
        else:
            self.answered()
        if verdicts is not None:
            claim._note_all_done(verdicts)
        if taken is None:
            if verdicts is None:
                claim.settle()
            return self.take(name, limit=limit)
        self.remember(taken)
        following = self._in_hand(taken, claim._rules, plain=True)
        try:
            if verdicts is None:
                claim.settle()  # a claim that the trip found gone: answered as before, or refused
        except RowlockError:
            following.settle()
            raise
        return following

    def take(self, what: List | str, *, limit: int = 100) -> Claim | None:
        """One claim of up to `limit` items of the list, or None if nothing is ready."""
        self._end_claims()
        name = what if isinstance(what, str) else what.name
        settings = self._settings(name)
        rules = _rules(settings)
        taken = self.take_items(name, limit=limit, attempts_allowed=rules.attempts)
        if taken is None:
            return None
        if not self._beats:
            # Others will settle it: they must know what was handed out, and not what came between later.
            self._engine.run(sessions.note_handed, self.id, taken)
        return self._in_hand(taken, rules, plain=not settings.keep_results)

    def _end_claims(self) -> None:
        """End the claims whose blocks have ended, as far as the transactions that settle them have."""
        unended = self._unended.copy()
        self._unended.clear()
        for claim in unended:
            claim._end()

    def held(self, token: str) -> Claim:
        """A claim under this session by its token, made here or by another process, with what is left of it.

        That is what it handed out, as far as this process or the session's row knows: of a session without a heart, or
        of a claim that was made here and is still in use. Else it is all that stands in its interval now, which nobody
        else is handed while the claim lives. StaleClaim if it is no more.
        """
        taken = self._engine.read(sessions.held, self.id, token)
        known = self._claims.get(token)
        if known is not None:
            items = [item for item in taken.items if item.position in known._handed]
            taken = msgspec.structs.replace(taken, items=items)
        return self._in_hand(taken, _rules(self._settings(taken.list)), plain=False)

    def _in_hand(self, taken: ClaimedItems, rules: attempts.Policy, *, plain: bool) -> Claim:
        terms: dict[str, Any] = {
            "holder": self.holder,
            "environment": self._engine.environment,
            "unended": self._unended,
        }
        claim = Claim(self._engine, self.id, taken, rules=rules, plain=plain, **terms)
        self._claims.setdefault(taken.token, claim)
        return claim

    def _settings(self, name: str) -> Settings:
        row = self._engine.read(lists.find, name)
        return row.settings if row else Settings()

    def take_items(
        self, name: str, *, limit: int, attempts_allowed: int | None = None, thorough: bool = False
    ) -> ClaimedItems | None:
        """The next items of the list: after the frontier, or anywhere if that gives none or a second has passed."""
        asking = self.asking(name, limit=limit, attempts_allowed=attempts_allowed)
        taken = None
        if not thorough and self._may_be_short(name):
            taken = self._tried(claims.take, asking)
        if taken is None:
            self._hints[name].looked_at = self._engine.environment.monotonic()
            taken = self._tried(claims.take_thoroughly, asking)
        if taken is not None:
            self.remember(taken)
            self._hints[name].limited = taken.limited
        return taken

    def _may_be_short(self, name: str) -> bool:
        return self.searched_lately(name) and not self._hints[name].limited

    def asking(self, name: str, *, limit: int, attempts_allowed: int | None) -> ClaimRequest:
        """What to ask for, under a new token, from where this session has seen up to."""
        seen = self._hints[name]
        # Without a heart nobody knows whether the session will ask again: it keeps an exclusive list for no longer than
        # it has something of it in hand.
        keep = leases.KEEP_IDLE_MILLISECONDS if self._beats else 0
        token = self._engine.environment.token()
        return ClaimRequest(self.id, name, limit, token, attempts_allowed, seen.floors, keep, seen.lane)

    def ask_anew(self, name: str, *, limit: int, attempts_allowed: int | None) -> ClaimRequest:
        """The same for a trip, which asks anew each time it must be made again; `answered` when it has come home."""
        asking = self.asking(name, limit=limit, attempts_allowed=attempts_allowed)
        self.doubtful.append(asking.token)
        return asking

    def answered(self) -> None:
        """A trip has come home: its last question is answered, what earlier tries asked for stays to be closed."""
        self.doubtful.pop()

    def searched_lately(self, name: str) -> bool:
        """Whether the list was looked through for holes within a second."""
        return self._hints[name].lately(self._engine.environment.monotonic())

    def remember(self, taken: ClaimedItems) -> None:
        """Note how far has been seen: a hint for the next claim."""
        self._hints[taken.list].remember(taken)

    def _tried(self, verb: Any, asking: ClaimRequest) -> ClaimedItems | None:
        self.close_doubtful()
        self.doubtful.append(asking.token)
        try:
            taken: ClaimedItems | None = self._engine.run(verb, asking)
        except OutcomeUnknown:
            self.close_doubtful()
            return None
        self.doubtful.remove(asking.token)
        return taken

    def close_doubtful(self) -> None:
        """End the claims that were asked for and never answered: nobody was told of their items."""
        while self.doubtful:
            self._engine.run(claims.close, self.id, self.doubtful[-1])
            self.doubtful.pop()


def _rules(settings: Settings) -> attempts.Policy:
    return attempts.policy(settings.attempts, settings.backoff)
