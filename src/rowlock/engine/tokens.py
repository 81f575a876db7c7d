"""Tokens in a user's hands: made, listed, revoked, and checked without asking the database each time."""

import threading
from collections.abc import Iterable
from typing import Any

import msgspec

from rowlock import tokens
from rowlock.engine.runner import Runner
from rowlock.environment import Environment
from rowlock.errors import TokenRefused, Unavailable
from rowlock.model import DurationOrTime
from rowlock.roles import read_role
from rowlock.tokens import LiveToken, NewToken, TokenInfo

FRESH = 1.0
"""Seconds for which what was read is believed: so soon does a revocation reach every process."""


class TokenSnapshot(msgspec.Struct, frozen=True):
    """All live tokens as they were read once."""

    begun: float
    """When reading began, by this machine's monotonic clock: nothing that was revoked before is in it."""
    rows: dict[str, Any]
    """By their digests."""
    known: dict[str, LiveToken]
    """Those that were asked for, as what they mean."""
    exist: bool


class Tokens:
    """The access tokens of a database.

    `authenticate` believes what was read for a second: a token that is revoked, here or elsewhere, is refused by every
    process within one. If the database cannot be asked after that, nobody is let in.
    """

    def __init__(self, runner: Runner, environment: Environment) -> None:
        self._runner = runner
        self._environment = environment
        self._look: TokenSnapshot | None = None
        self._failed: tuple[float, Unavailable] | None = None
        self._lock = threading.Lock()
        self._used: set[int] = set()

    def create(
        self, role: str, *, lists: str | Iterable[str] = (), label: str = "", expires: DurationOrTime | None = None
    ) -> NewToken:
        """A new token; its text can be had here and never again. `lists` are prefixes of names, `expires` a while."""
        chosen = read_role(role)
        prefixes = tokens.read_prefixes(lists, chosen)
        tokens.check_label(label)
        text = tokens.generate()
        # Only what may be seen goes to the verb: a history or a log of it holds no secret.
        info = self._runner.run(
            tokens.create,
            tokens.digest(text),
            shown=tokens.masked(text),
            role=chosen,
            lists=prefixes,
            label=label,
            expires=expires,
        )
        self._look = None
        return NewToken(text, info)

    def page(self, *, after: int = 0, limit: int = 1000, ended: bool = False) -> list[TokenInfo]:
        """Tokens in the order they were made, strictly after one; with `ended` also those that are over."""
        return self._runner.read(tokens.page, after=after, limit=limit, ended=ended)

    def revoke(self, token: int) -> bool:
        """End a token by its id; whether it was not revoked already."""
        revoked = self._runner.run(tokens.revoke, token)
        self._look = None
        return revoked

    def exist(self) -> bool:
        """Whether there is or ever was a token, as of a second ago at the most: then nothing is open without one."""
        return self._looked(self._now() - FRESH).exist

    @property
    def known_absent(self) -> bool:
        """Whether it is known, without asking the database, that there never was a token."""
        look = self._fresh()
        return look is not None and not look.exist

    def authenticate(self, text: str) -> TokenInfo:
        """Whose token it is; TokenRefused if it is nobody's, or no longer."""
        if not tokens.well_formed(text):
            raise TokenRefused("what was given is not a token: mistyped, or cut off", "check it letter by letter")
        asked = self._now()
        found = self.recall(text) or self._among(self._looked(asked - FRESH), text)
        # It may have been made a moment ago: a look that begins now knows, and is shared by all who wait for it.
        found = found or self._among(self._looked(asked), text)
        if found is None:
            what = f"the token {tokens.masked(text)} is not known here: revoked, expired, or of another database"
            raise TokenRefused(what, "ask whoever runs this service for one: rowlock token create")
        return found

    def recall(self, text: str) -> TokenInfo | None:
        """Whose token it is, if that is known without asking the database; else None, and `authenticate` tells."""
        look = self._fresh()
        return None if look is None else self._among(look, text)

    def note_used(self) -> int:
        """Write down which tokens were let in since the last time; how many were not noted within a minute before."""
        used, self._used = self._used, set()
        return self._runner.run(tokens.touch, used) if used else 0

    def _fresh(self) -> TokenSnapshot | None:
        look = self._look
        return look if look is not None and self._now() - look.begun < FRESH else None

    def _now(self) -> float:
        return self._environment.monotonic()

    def _among(self, look: TokenSnapshot, text: str) -> TokenInfo | None:
        digest = tokens.digest(text)
        known = look.known.get(digest)
        if known is None and digest in look.rows:
            known = look.known[digest] = tokens.live_token(look.rows[digest])
        if known is None or (known.left is not None and self._now() - look.begun >= known.left):
            return None
        self._used.add(known.info.id)
        return known.info

    def _looked(self, since: float) -> TokenSnapshot:
        """All live tokens, as a look knows them that began no earlier; one at a time, and shared."""
        asked = self._now()
        if (look := self._look) is not None and look.begun > since:
            return look
        with self._lock:
            if (look := self._look) is not None and look.begun > since:
                return look
            if self._failed is not None and self._failed[0] >= asked:
                # Somebody has just waited for the database in vain; to wait again would help nobody.
                why = self._failed[1]
                raise type(why)(why.what, why.hint, **why.fields)
            return self._read()

    def _read(self) -> TokenSnapshot:
        begun = self._now()
        try:
            rows, exist = self._runner.read(tokens.live_rows)
        except Unavailable as why:
            self._failed = self._now(), why
            raise
        self._look = TokenSnapshot(begun, rows, {}, exist)
        return self._look
