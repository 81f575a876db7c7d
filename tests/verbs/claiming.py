"""Sessions and claims by their verbs, as a worker asks for them, with names that are easy to follow."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from rowlock import Done, Engine, Verdict, claims, sessions, settlements
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.diagnostics import broken_rules
from rowlock.outcomes import Outcome

ALL = ("sqlite", "postgres", "postgres16", "serializable", "pooled", "cockroach")
"""The databases, an older PostgreSQL, and PostgreSQL at its strictest isolation and by a pooler too."""
EVERY = ("sqlite", "postgres", *(pytest.param(each, marks=pytest.mark.torture) for each in ALL[2:]))
"""The same for what stands on claims and settlements: at the strictest isolation in the long run only."""
STRICT = (*ALL[:4], *(pytest.param(each, marks=pytest.mark.torture) for each in ALL[4:]))
"""The same for claims and settlements themselves, as far as CockroachDB is asked no differently."""
CORE = tuple(each for each in STRICT if each != "serializable")
"""The same where isolation makes no difference."""

EXPIRY = 15_000


class Desk:
    """A session that claims from the list `work`, or another."""

    _numbers = count(1)

    def __init__(self, engine: Engine, name: str = "ann", *, expiry: int = EXPIRY, seeks: Sequence[str] = ()) -> None:
        self.engine = engine
        self.id = f"{name}-{next(self._numbers)}"
        engine.run(sessions.open_session, self.id, holder=name, expiry=expiry, seeks=seeks)

    def ask(self, limit: int = 100, name: str = "work", floors: dict[int, int] | None = None) -> ClaimRequest:
        """What a claim asks for, with three attempts to an item."""
        return ClaimRequest(self.id, name, limit, f"token-{next(self._numbers)}", 3, floors or {})

    def take(self, limit: int = 100, name: str = "work", floors: dict[int, int] | None = None) -> ClaimedItems | None:
        """The next items after the frontier."""
        return self.engine.run(claims.take, self.ask(limit, name, floors))

    def look(self, limit: int = 100, name: str = "work") -> ClaimedItems | None:
        """The first free items, wherever they stand."""
        return self.engine.run(claims.take_thoroughly, self.ask(limit, name))

    def got(self, limit: int = 100, name: str = "work") -> ClaimedItems:
        """The same, of which there must be some."""
        taken = self.look(limit, name)
        assert taken is not None
        return taken

    def done(self, taken: ClaimedItems) -> list[Verdict]:
        """All of a claim is done."""
        return self.engine.run(settlements.settle_done, self.id, taken.token, [each.position for each in taken.items])

    def settle(self, taken: ClaimedItems, *outcomes: Outcome, close: bool = True) -> list[Verdict]:
        """The first items of a claim end so."""
        settling = [(item.position, outcome) for item, outcome in zip(taken.items, outcomes, strict=False)]
        return self.engine.run(settlements.settle, self.id, taken.token, settling, holder="ann", close=close)

    def beat(self) -> bool:
        """Stay alive."""
        return self.engine.run(sessions.beat, self.id, expiry=EXPIRY)

    def close(self) -> bool:
        """End gently."""
        return self.engine.run(sessions.close, self.id)


def keys(taken: ClaimedItems | None) -> list[str]:
    """What was handed out, in line."""
    return [] if taken is None else [item.key for item in taken.items]


def all_done(taken: ClaimedItems) -> Sequence[Outcome]:
    """An outcome for each."""
    return [Done()] * len(taken.items)


def broken(engine: Engine) -> list[str]:
    """What stored rows say against themselves."""
    return engine.read(broken_rules)


def attempts(engine: Engine, name: str = "work") -> dict[str, int]:
    """The failed attempts of each item."""
    return {item.key: item.attempts for item in engine[name]}


def states(engine: Engine, name: str = "work") -> dict[str, str]:
    """Where each item stands."""
    return {item.key: str(item.state) for item in engine[name]}


def numbered(count_: int) -> list[Any]:
    """Keys in order."""
    return [f"{number:04}" for number in range(count_)]
