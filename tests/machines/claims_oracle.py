"""What sessions and claims should do, kept in plain dictionaries. Only positions are read from the database."""

from dataclasses import dataclass, field
from typing import Any

from rowlock import Done, Fail, Move, Retry
from rowlock.errors import ItemClaimed, ItemFailed, NoSuchItem

LIMIT = 3
"""How often an item may fail here."""

Lane = tuple[int, int]
"""Gate and priority."""


@dataclass
class Item:
    """An item as it should be."""

    priority: int
    gate: int = 0
    due: int | None = None
    failed: bool = False
    attempts: int = 0
    position: int = 0
    in_line: bool = True
    """Whether nobody has to promote it first: read from the database, like its position."""

    @property
    def lane(self) -> Lane:
        """Where it stands in line."""
        return self.gate, self.priority


@dataclass
class Claim:
    """A claim as it should be."""

    session: str
    lane: "Lane"
    low: int
    high: int
    handed: dict[str, int]
    remaining: int
    token: str


@dataclass
class Oracle:
    """One list, the sessions that work it, and the time."""

    now: int = 1_700_000_000_000
    items: dict[str, Item] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    suspects: list[tuple[Lane, int, int, int]] = field(default_factory=list)
    condemned: list[str] = field(default_factory=list)
    paused: bool = False
    gate: int = 0
    lanes: set[int] = field(default_factory=lambda: {5})
    """The priorities that any item ever had."""
    events: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("added", "done", "retried", "moved", "failed", "abandoned"), 0)
    )

    def ready(self, key: str) -> bool:
        """Whether it stands in line."""
        item = self.items[key]
        return item.in_line and not item.failed and item.gate == self.gate

    def holder(self, item: Item) -> Claim | None:
        """The live claim whose interval it stands in."""
        covering = (c for c in self.claims.values() if c.lane == item.lane and c.low < item.position <= c.high)
        return next(covering, None)

    def state(self, key: str) -> str:
        """Where it stands, as people see it."""
        item = self.items[key]
        if item.failed:
            return "failed"
        if item.gate > self.gate:
            return "gated"
        if item.due is not None and item.due > self.now:
            return "delayed"
        return "claimed" if item.in_line and self.holder(item) else "ready"

    def counts(self) -> dict[str, int]:
        """How many items stand in each state."""
        states = [self.state(key) for key in self.items]
        return {state: states.count(state) for state in ("ready", "delayed", "gated", "claimed", "failed")}

    def expected(self, limit: int, floors: dict[int, int] | None) -> list[str]:
        """The keys that a claim should get: after the frontier with floors, else from the first hole on."""
        if self.paused:
            return []
        for priority in range(10):
            lane = self.gate, priority
            line = sorted(
                (item.position, key) for key, item in self.items.items() if self.ready(key) and item.lane == lane
            )
            if floors is not None:
                ends = [c.high for c in self.claims.values() if c.lane == lane]
                low = max([floors.get(priority, 0), *ends])
                line = [each for each in line if each[0] > low]
            else:
                line = [each for each in line if self.holder(self.items[each[1]]) is None]
            if line:
                return self._run_of(line, lane)[:limit]
        return []

    def just_one(self, lane: Lane, floor: int) -> bool:
        """Whether nothing else matters to a claim from there on: no other lane, and nobody who died."""
        dead = any(where == lane and high > floor for where, _, high, _ in self.suspects)
        return self.lanes == {lane[1]} and lane[0] == self.gate and not dead

    def passes(self, gate: int) -> bool:
        """Whether the list may go from its gate to another: nothing unfinished before it, and the first with items."""
        return gate == min((item.gate for item in self.items.values()), default=self.gate)

    @property
    def stuck(self) -> bool:
        """Whether a gate should have opened when somebody looked."""
        return not self.paused and bool(self.items) and all(item.gate > self.gate for item in self.items.values())

    def _run_of(self, line: list[tuple[int, str]], lane: Lane) -> list[str]:
        """As far as one claim may reach: to the next claim, not into a suspect interval, and of that one item."""
        first = line[0][0]
        if self.suspected(lane, first):
            return [line[0][1]]
        walls = [c.low for c in self.claims.values() if c.lane == lane and c.low >= first]
        walls += [low for where, low, *_ in self.suspects if where == lane and low >= first]
        return [key for position, key in line if not walls or position <= min(walls)]

    def suspected(self, lane: Lane, position: int) -> int:
        """How many workers died with what stands there in hand."""
        return max((d for where, low, high, d in self.suspects if where == lane and low < position <= high), default=0)

    def suspect(self, claim: Claim) -> None:
        """One more worker died with this in hand."""
        met = [
            d for lane, low, high, d in self.suspects if lane == claim.lane and low < claim.high and high > claim.low
        ]
        self.suspects.append((claim.lane, claim.low, claim.high, 1 + max(met, default=0)))

    def clear_suspects(self) -> None:
        """Where nothing is left nobody is suspect."""
        line = [(item.lane, item.position) for item in self.items.values() if item.in_line and not item.failed]
        self.suspects = [s for s in self.suspects if any(lane == s[0] and s[1] < at <= s[2] for lane, at in line)]

    def refusal(self, key: str, changes: dict[str, Any]) -> type[Exception] | None:
        """Why an item cannot be saved, if it cannot."""
        item = self.items.get(key)
        if item is None:
            return NoSuchItem
        if item.in_line and not item.failed and self.holder(item):
            return ItemClaimed
        return ItemFailed if item.failed and "due" in changes else None

    def save(self, key: str, changes: dict[str, Any]) -> None:
        """The item is due at another time, or goes to the back of another lane."""
        item = self.items[key]
        moves = changes.get("priority", item.priority) != item.priority
        at_once = moves if item.in_line else "due" in changes
        if changes.get("due") or (at_once and not item.failed):
            item.due, item.in_line = self.now + (changes.get("due") or 0) * 1000, False
        item.priority = changes.get("priority", item.priority)

    def settle(self, token: str, settling: list[tuple[str, Any]], *, close: bool) -> list[str]:
        """The verdicts."""
        claim = self.claims[token]
        verdicts = [self._settle_one(key, claim.handed[key], outcome) for key, outcome in settling]
        claim.remaining = max(0, claim.remaining - len(settling))
        if close:
            del self.claims[token]
        return verdicts

    def _settle_one(self, key: str, position: int, outcome: Any) -> str:
        item = self.items.get(key)
        if item is None or item.position != position or item.failed or not item.in_line:
            return "gone"
        if isinstance(outcome, Retry) and outcome.counted and item.attempts + 1 >= LIMIT:
            outcome = Fail()
        verdict = {Done: "done", Retry: "retried", Move: "moved", Fail: "failed"}[type(outcome)]
        self.events[verdict] += 1
        self._write(key, item, outcome)
        return verdict

    def _write(self, key: str, item: Item, outcome: Any) -> None:
        match outcome:
            case Done():
                del self.items[key]
            case Fail():
                item.failed, item.attempts = True, item.attempts + 1
            case Retry():
                item.attempts += outcome.counted
                self._requeue(item, outcome.after)
            case Move():
                gate = item.gate if outcome.gate is None else outcome.gate
                item.attempts, item.gate = item.attempts if gate == item.gate else 0, gate
                self._requeue(item, outcome.after)

    def _requeue(self, item: Item, after: int | None) -> None:
        item.due = self.now + after * 1000 if after else None
        item.in_line = item.due is None
        item.position = -1 if item.in_line else item.position

    def expire(self) -> int:
        """How many sessions are strictly past their deadline; their claims are looked into."""
        dead = [session for session, deadline in self.sessions.items() if deadline < self.now]
        for session in dead:
            unsettled = [c for c in self.claims.values() if c.session == session and c.remaining > 0]
            if len(unsettled) == 1 and len(unsettled[0].handed) == 1:
                self._charge(unsettled[0])
            else:
                for claim in sorted(unsettled, key=lambda each: each.token):
                    self.suspect(claim)
            self.end(session)
        return len(dead)

    def _charge(self, claim: Claim) -> None:
        ((key, position),) = claim.handed.items()
        if self._settle_one(key, position, Retry()) == "retried":
            self.condemned.append(key)

    def end(self, session: str) -> None:
        """The session goes, and its claims with it."""
        del self.sessions[session]
        self.claims = {token: c for token, c in self.claims.items() if c.session != session}
