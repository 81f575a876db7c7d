"""What simulated processes do: they add, claim, settle, beat, count and keep house by the public API of the engine."""

import sqlite3
from collections.abc import Callable
from typing import Any

from tests.simulation.sleepers import looks_for_sleepers, sleepers
from tests.simulation.world import Process, World

from rowlock import (
    Done,
    Fail,
    List,
    Move,
    OutcomeUnknown,
    Retry,
    RowlockError,
    Session,
    counters,
    sessions,
    settlements,
    upkeep,
)
from rowlock.engine.claim import Claim
from rowlock.outcomes import Outcome

LIST = "work"
OTHER_LIST = "other"
"""Some seeds have a second list: what a statement does to the first must leave it alone."""
EXPIRY_SECONDS = 2
MAX_DRAIN_TURNS = 9
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"attempts": 2, "backoff": "1s..2s"},
    {"attempts": 1, "keep_results": True},
    {"exclusive": True},
    {"concurrency": 2},
    {"concurrency": 1, "attempts": 3},
    {"once": True},
)
REFUSALS = {
    "stale-claim": "a stale settlement was refused",
    "stale-session": "a session found itself expired",
    "outcome-unknown": "an outcome was unknown to its caller",
    "database-busy": "patience ended while the file was busy",
    "database-full": "a full disk was reported",
    "unavailable": "a broken statement was reported",
    "gate-passed": "an add or a move before the open gate was refused",
    "items-gone": "items were gone when a transaction settled them",
    "no-such-list": "a verb came before its list",
    "list-sealed": "an add to a sealed list was refused",
    "list-complete": "an add to a complete list was refused",
    "invalid-transaction": "outcomes of a transaction that did not commit were refused",
    "item-claimed": "a save of a claimed item was refused",
    "gate-shut": "a gate that items keep shut was not opened",
}


class Worker:
    """One life of a process: its session, and the claims it has not settled."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.world = process.world
        self.chance = process.world.chance
        self.engine = process.engine
        self.session: Session | None = None
        self.claims: list[Claim] = []

    def step(self) -> None:
        """Do one thing that the seed chooses."""
        action = self.chance.choice(ACTIONS)
        try:
            self.process.call(lambda: action(self))
        except RowlockError as error:
            mark = REFUSALS.get(error.code)
            if mark is None:
                self.world.wrong.append(f"{action.__name__} raised {error.code}: {error}")
            else:
                self.world.note(mark)
        except sqlite3.OperationalError:
            self.world.note("a statement of the caller's own failed")
        except Exception as error:
            self.world.wrong.append(f"{action.__name__} raised {error!r}")
        if looks_for_sleepers(self.world):
            self.world.wrong += sleepers(self.world)

    @property
    def list(self) -> List:
        """The list that the next operation is about."""
        return self.engine[self.list_name]

    @property
    def list_name(self) -> str:
        """The name of that list. It takes no number of the seed, so that seeds with one list stay as they are."""
        return OTHER_LIST if has_other_list(self.world) and self.world.statements % 5 < 2 else LIST

    def working(self) -> Session:
        """Return the open session; open one if there is none."""
        if self.session is None:
            # Without the thread of its heartbeat: beats are operations like others.
            session = self.engine.session(holder=self.process.name, expiry=EXPIRY_SECONDS)
            terms: dict[str, Any] = {"holder": session.holder, "expiry": EXPIRY_SECONDS * 1_000}
            self.engine.run(sessions.open_session, session.id, **terms)
            self.session = session
        return self.session

    def add(self) -> None:
        """Add new items, at later gates too."""
        chance = self.chance
        keys = [f"k{next(self.world.keys)}" for _ in range(chance.choice((1, 1, 2, 4)))]
        gate = chance.choice((0, 0, 0, 1, 2))
        due = chance.choice((None, None, None, 2, 30))
        self.list.add(keys, gate=gate, due=due, priority=chance.choice((5, 5, 5, 1)))

    def take(self) -> None:
        """Claim."""
        claim = self.working().take(self.list_name, limit=self.chance.choice((1, 2, 3)))
        if claim is not None:
            self.claims.append(claim)
            self.world.note("items were claimed")
            if claim.taken.alone:
                self.world.note("a suspect was handed out alone")

    def settle(self) -> None:
        """Settle a claim, perhaps long after it was made, perhaps again."""
        if not self.claims:
            return self.take()
        claim = self.chance.choice(self.claims)
        for item in claim:
            if self.chance.random() < 0.9:
                claim.say(item, self.outcome(item.gate))
        again = self.chance.random() < 0.5
        try:
            claim.settle(close=self.chance.random() < 0.8)
        except OutcomeUnknown:
            if again:
                claim.settle()
                self.world.note("an unknown settlement was asked for again")
            raise
        self.remember(claim)
        if claim.settled:
            self.claims.remove(claim)
        return None

    def outcome(self, gate: int) -> Outcome:
        """Choose an outcome."""
        moves = (Move(gate + 1), Move(), Move(max(0, gate - 1)))
        several = (Done(), Done(), Done(), Retry("no"), Retry("no"), Retry("later", after=3), Fail("bad"), *moves)
        return self.chance.choice(several)

    def remember(self, claim: Claim) -> None:
        """Keep a settlement: for a message that comes late or twice, and for what its caller was told."""
        self.world.told_done |= {key for key, verdict in claim._verdicts(claim._committed).items() if verdict == "done"}
        said = list(claim._said.items())
        if said:
            self.world.messages.append((claim._session.id, claim.token, said, claim._session.holder))

    def send_again(self) -> None:
        """Deliver a settlement that was sent before."""
        if self.world.messages:
            session, token, said, holder = self.chance.choice(self.world.messages)
            self.engine.run(settlements.settle, session, token, said, holder=holder)
            self.world.note("a late message was answered as before")

    def take_turns(self) -> None:
        """Work as a loop does: each claim is settled when the next is asked for."""
        claims = self.working().claim(self.list_name, limit=self.chance.choice((1, 2)))
        for _, claim in zip(range(3), claims, strict=False):
            for item in claim:
                claim.done(item)
            self.world.note("a loop settled and claimed")
        claims.close()

    def settle_with_rows(self) -> None:
        """Settle in a transaction with rows of a handler, which must be there once."""
        if not self.claims:
            return self.take()
        claim = self.chance.choice(self.claims)
        for item in claim:
            claim.done(item)
        with self.engine.transaction() as tx:
            number = tx.counter("rows").next()
            for item in claim:
                tx.execute("insert into effects values (?, ?, ?)", (item.position, claim.token, number))
            claim.settle(using=tx)
        self.claims.remove(claim)
        self.world.told_done |= {item.key for item in claim}
        self.world.note("a transaction settled beside rows")
        return None

    def beat(self) -> None:
        """Send a heartbeat."""
        try:
            self.working().beat()
        except RowlockError as error:
            if error.code == "stale-session":
                self.session = None
            raise

    def leave(self) -> None:
        """Close the session; claims are still remembered, as a careless program might."""
        session, self.session = self.session, None
        if session is not None:
            self.engine.run(sessions.close, session.id)

    def keep_house(self) -> None:
        """Run a whole pass of upkeep."""
        if self.engine.upkeep().expired:
            self.world.note("a session expired")

    def watch(self) -> None:
        """Look for dead sessions as a worker does each second: twice, so that they are seen to be silent."""
        for _ in range(2):
            if upkeep.expire(self.engine.database, self.engine._sessions):
                self.world.note("a session expired")
            self.world.sleep(self.chance.choice((0.5, 1.5)))

    def oversleep(self) -> None:
        """Claim, forget the heartbeats, and settle when the session may have expired."""
        self.take()
        self.world.sleep(self.chance.choice((0.5, 3.0)))
        self.watch()
        self.settle()

    def wait(self) -> None:
        """Let time pass."""
        self.world.sleep(self.chance.choice((0.5, 3.0, 7.0, 20.0)))

    def finish_by_hand(self) -> None:
        """Take an item off the list by its key."""
        key = f"k{self.chance.randint(1, 8)}"
        verb = self.chance.choice((self.list.done, self.list.abandon, self.list.retry, self.list.increment))
        verb(key)

    def count(self) -> None:
        """Take numbers of a counter."""
        self.engine.run(counters.take, "numbers", self.chance.choice((1, 3)))

    def steer(self) -> None:
        """Pause, resume, or open a gate by hand."""
        verb: Callable[[], object] = self.chance.choice(
            (self.list.pause, self.list.resume, self.list.resume, lambda: self.list.open_gate(1))
        )
        verb()


def has_other_list(world: World) -> bool:
    """Return whether the seed has two lists."""
    return world.seed % 8 == 7


W = Worker
ACTIONS: tuple[Callable[[Worker], None], ...] = (
    *(W.add,) * 5,
    *(W.take,) * 4,
    *(W.settle,) * 6,
    *(W.take_turns,) * 2,
    *(W.settle_with_rows,) * 2,
    *(W.beat,) * 3,
    *(W.watch,) * 3,
    W.keep_house,
    *(W.oversleep,) * 2,
    *(W.wait,) * 2,
    *(W.send_again,) * 2,
    *(W.count,) * 2,
    W.leave,
    W.finish_by_hand,
    W.steer,
)


def work(process: Process) -> None:
    """Live one life of a process."""
    worker = Worker(process)
    while process.steps:
        process.steps -= 1
        worker.step()


def drain(world: World, process: Process) -> list[str]:
    """Work the list empty after all faults, and return the keys of items that were never handed out."""
    engine, work = process.engine, process.engine[LIST]
    session = engine.session(holder="drain", expiry="24h")
    engine.run(sessions.open_session, session.id, holder="drain", expiry=24 * 3_600_000)
    work.resume()
    upkeep.expire(engine.database, engine._sessions)
    world.pass_time(60)
    upkeep.expire(engine.database, engine._sessions)
    world.wrong += _asleep_after_a_settlement(world, session)
    for _ in range(MAX_DRAIN_TURNS):
        while _items_left(world) and (claim := session.take(LIST, limit=100)) is not None:
            for item in claim:
                claim.done(item)
            claim.settle()
        if not _items_left(world):
            break
        work.retry_failed()
        world.pass_time(2 * 3_600)
        session.beat()
        engine.upkeep()
    engine.run(sessions.close, session.id)
    return _items_left(world)


def _asleep_after_a_settlement(world: World, session: Session) -> list[str]:
    """Claim all there is, so that the list sleeps; settle a claim without its last item, and look who was told."""
    claims: list[Claim] = []
    while len(claims) < MAX_DRAIN_TURNS and (claim := session.take(LIST, limit=100)) is not None:
        claims.append(claim)
    asleep: list[str] = []
    for claim in claims:
        for item in claim.items[:-1] or claim.items:
            claim.done(item)
        claim.settle()
        asleep = asleep or sleepers(world)
    return asleep


def _items_left(world: World) -> list[str]:
    return [key for (key,) in world.disk.raw.execute("select key from rowlock_items order by key")]
