"""A connection that counts its steps and fails at a chosen one, and calls of every public verb that writes."""

import threading
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from rowlock import (
    Claim,
    Engine,
    Move,
    Retry,
    Session,
    item_input,
    item_resources,
    lists,
    schedules,
    sessions,
    tokens,
    topics,
)
from rowlock.db.driver import ConnectionLost
from rowlock.environment import Environment
from rowlock.errors import DatabaseUnreachable, OutcomeUnknown, Unavailable
from rowlock.model import Settings
from rowlock.roles import Role
from rowlock.schedules import plans
from rowlock.topics import notifications, subscriptions

STATEMENTS = ("query", "send", "change", "execute", "executemany")
ENDS = ("commit", "autocommit", "pipeline")
"""Steps whose answer can be lost after they have committed."""
STEPS = ("begin", *STATEMENTS, *ENDS)

Call = Callable[[], Any]


class Fault(NamedTuple):
    """What goes wrong at a step."""

    name: str
    raised: Callable[[], BaseException]
    after: bool = False
    """Whether the step is carried out first."""


FAULTS = (
    Fault("exception", lambda: Unavailable("the step failed", "try again")),
    Fault("interrupt", KeyboardInterrupt),
    Fault("lost connection", lambda: ConnectionLost(DatabaseUnreachable("the connection was lost", "try again"))),
    Fault("exception after", lambda: Unavailable("the step failed", "try again"), after=True),
    Fault("interrupt after", KeyboardInterrupt, after=True),
    Fault("lost answer", lambda: OutcomeUnknown("the connection broke at commit", "look first"), after=True),
)


class CrashPoints:
    """Wraps connections of an engine; armed, it raises at the step of that number."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, bool]] = []
        """The names of the steps since `arm`, and whether the thread of the test ran them."""
        self._fault: Fault | None = None
        self._at = -1
        self._armed = False
        self._thread = threading.get_ident()

    def arm(self, fault: Fault | None = None, at: int = -1) -> None:
        """Count from here on, and raise the fault at the step of that number."""
        self.steps.clear()
        self._fault, self._at, self._armed = fault, at, True

    def disarm(self) -> None:
        """Let everything pass."""
        self._armed = False

    def wrap(self, connection: Any) -> Any:
        """Return a connection that is watched."""
        return _Watched(connection, self)

    def step(self, name: str, run: Call) -> Any:
        """Run a step of a connection, or fail."""
        if not self._armed:
            return run()
        fault = self._fault if len(self.steps) == self._at else None
        self.steps.append((name, threading.get_ident() == self._thread))
        if fault is not None and not fault.after:
            raise fault.raised()
        answer = run()
        if fault is not None:
            raise fault.raised()
        return answer


class _Watched:
    def __init__(self, connection: Any, points: CrashPoints) -> None:
        self._connection = connection
        self._points = points

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._connection, name)
        if name not in STEPS:
            return found
        return lambda *args, **options: self._points.step(name, lambda: found(*args, **options))


def repeatable_environment() -> Environment:
    """Names and jitter that are the same in each trial, and no waiting."""
    numbers, ticks = count(1), count()
    return Environment(
        monotonic=lambda: next(ticks) / 10_000,
        sleep=lambda _: None,
        random=lambda: 0.5,
        token=lambda: f"{next(numbers):032x}",
    )


class Verb(msgspec.Struct, frozen=True):
    """A public verb: how it is called on an engine that `fill` has filled."""

    name: str
    prepare: Callable[[Engine], Call]
    """Do what comes before the verb, and return the call of it."""
    repeats: bool = False
    """Whether a second call does its work a second time, or stores a new version."""
    joins: Callable[[Any], Any] | None = None
    """The verb in a transaction of the caller's, where it can be."""


def fill(engine: Engine) -> None:
    """Store some of everything."""
    work = engine["work"]
    work.settings(attempts=3, keep_results=True, gates=["first", "second"], once=True)
    work.add(["a", "b", "c"])
    work.add("late", due="1h")
    work.add("bad")
    work.increment("bad", error="boom")
    work.done("c")
    engine["gated"].settings(gates=["first", "second"], manual=True)
    engine["gated"].add("a", gate=1)
    engine["sealed"].add("a")
    engine["sealed"].seal(then="after")
    engine["complete"].add("a")
    engine["complete"].seal()
    engine["complete"].done("a")
    engine["paused"].add("a")
    engine["paused"].pause()
    engine["stopped"].add(["x", "y"])
    with engine.session(holder="before", expiry="1h", beats=False) as session:
        for claim in session.claim("stopped"):
            for item in claim:
                claim.fail(item, "boom")
    engine["alone"].settings(exclusive=True)
    engine["alone"].add(["a", "b"])
    engine.counter("numbers").take(3)
    engine.schedule("hourly").set("work", every="1h", key="tick")
    engine.schedule("still").set("work", every="1h", key="tick")
    engine.schedule("still").pause()
    topic = engine.topic("comics")
    topic.define({"series": "text", "issue": "integer"})
    topic.subscribe("bob", {"series": "Saga"})
    topic.publish({"series": "Saga", "issue": 1}, key="saga-1")
    engine.run(notifications.note, [1], topic=1, record=1, subject=1)
    engine.tokens.create("viewer")


def _taken(engine: Engine) -> tuple[Session, Claim]:
    session = engine.session(holder="tester", expiry="1h", beats=False).open()
    claim = session.take("work", limit=2)
    assert claim is not None
    return session, claim


def _settled(outcome: Callable[[Any, Any], None]) -> Callable[[Engine], Call]:
    def prepare(engine: Engine) -> Call:
        _, claim = _taken(engine)
        for item in claim:
            outcome(claim, item)
        return claim.settle

    return prepare


def _save_matching(engine: Engine) -> int:
    return engine["work"].save_matching(priority=2, state="ready")


def _publish(on: Any) -> int:
    return on.topic("comics").publish({"series": "Saga"}, key="saga-2")


def _beating(engine: Engine) -> Call:
    # A longer expiry: the clock stands still.
    return engine.rejoin(_opened(engine).id, expiry="2h").beat


def _beating_session(engine: Engine) -> Session:
    # Without the thread of its heartbeat, which would outlive the trial.
    session = engine.session(holder="tester", expiry="1h")
    engine.run(sessions.open_session, session.id, holder="tester", expiry=3_600_000, details=None)
    return session


def _opened(engine: Engine) -> Any:
    return engine.session(holder="tester", expiry="1h", beats=False).open()


def _simple(name: str, call: Callable[[Any], Any], *, repeats: bool = False, joins: bool = True) -> Verb:
    return Verb(name, lambda engine: lambda: call(engine), repeats, joins=call if joins else None)


def _token(engine: Engine) -> Call:
    # By the verb itself: `engine.tokens.create` makes another text each time.
    options = {"shown": "rl_…test", "role": Role.VIEWER, "lists": (), "label": "", "expires": None}
    return lambda: engine.run(tokens.create, "0" * 64, **options)


def verbs() -> Iterator[Verb]:
    """All public verbs that write."""
    yield from _verbs_of_items()
    yield from _verbs_of_lists()
    yield from _verbs_of_the_api()
    yield from _verbs_of_sessions()


def _verbs_of_items() -> Iterator[Verb]:
    yield _simple("items.add", lambda on: on["work"].add(["x", "y"]))
    yield _simple("items.add one", lambda on: on["work"].add("x"))
    yield _simple("items.add to a new list", lambda on: on["new"].add("x", data={"n": 1}))
    yield _simple("items.save", lambda on: on["work"].save("a", data={"n": 1}), repeats=True)
    yield _simple("items.save_matching", _save_matching, repeats=True, joins=False)
    yield _simple("items.increment", lambda on: on["work"].increment(["a", "b"], error="boom"), repeats=True)
    yield _simple("items.done", lambda on: on["work"].done(["a", "b"]))
    yield _simple("items.done one", lambda on: on["work"].done("a"))
    yield _simple("items.done the last", lambda on: on["sealed"].done("a"))
    yield _simple("items.abandon", lambda on: on["stopped"].abandon("x"))
    yield _simple("items.retry", lambda on: on["stopped"].retry("x"))
    yield _simple("items.done_matching", lambda on: on["work"].done_matching(prefix="a"), joins=False)
    yield _simple("items.abandon_failed", lambda on: on["stopped"].abandon_failed(), joins=False)
    yield _simple("items.retry_failed", lambda on: on["stopped"].retry_failed(), joins=False)
    yield _simple("done_keys.forget", lambda on: on["work"].forget("c"))


def _verbs_of_lists() -> Iterator[Verb]:
    yield _simple("lists.change_settings", lambda on: on["work"].settings(attempts=9), repeats=True)
    yield _simple("lists.rename", lambda on: on["work"].rename("renamed"))
    yield _simple("lists.pause", lambda on: on["work"].pause())
    yield _simple("lists.resume", lambda on: on["paused"].resume())
    yield _simple("lists.drop", lambda on: on["work"].drop())
    yield _simple("gates.open_gate", lambda on: on["gated"].open_gate("second"))
    yield _simple("gates.seal", lambda on: on["work"].seal(then="after"))
    yield _simple("gates.complete", lambda on: on["sealed"].complete())
    yield _simple("gates.reopen", lambda on: on["complete"].reopen())
    yield _simple("counters.take", lambda on: on.counter("numbers").take(2), repeats=True)
    yield _simple("counters.raise_to", lambda on: on.counter("numbers").raise_to(50))
    yield _simple("schedules.define", lambda on: on.schedule("daily").set("work", every="24h"))
    yield _simple("schedules.pause", lambda on: on.schedule("hourly").pause())
    yield _simple("schedules.resume", lambda on: on.schedule("still").resume())
    yield _simple("schedules.trigger", lambda on: on.schedule("hourly").trigger(), repeats=True)
    yield _simple("schedules.remove", lambda on: on.schedule("hourly").remove())
    yield _simple("topics.define", lambda on: on.topic("comics").define({"price": "number"}))
    yield _simple("subscriptions.subscribe", lambda on: on.topic("comics").subscribe("ann", {"series": "Saga"}))
    yield _simple("subscriptions.unsubscribe_from", lambda on: on.topic("comics").unsubscribe("bob"))
    yield _simple("records.publish", _publish, repeats=True)
    yield _simple("notifications.forget", lambda on: on.topic("comics").forget("bob", "saga-1"))


def _verbs_of_sessions() -> Iterator[Verb]:
    yield Verb("tokens.create", _token)
    yield Verb("tokens.revoke", lambda engine: lambda: engine.tokens.revoke(1))
    yield Verb("sessions.open_session", lambda engine: engine.session(holder="t", expiry="1h", beats=False).open)
    yield Verb("sessions.beat", _beating)
    yield Verb("sessions.close", lambda engine: _taken(engine)[0].close)
    yield Verb("claims.take", lambda engine: _taking(_beating_session(engine), "work"))
    yield Verb("claims.take of an exclusive list", lambda engine: _taking(_beating_session(engine), "alone"))
    yield Verb("settlements.settle done", _settled(lambda claim, item: claim.done(item, {"n": 1})))
    yield Verb("settlements.settle retry", _settled(lambda claim, item: claim.say(item, Retry("boom"))))
    yield Verb("settlements.settle fail", _settled(lambda claim, item: claim.fail(item, "boom")))
    yield Verb("settlements.settle move", _settled(lambda claim, item: claim.say(item, Move(gate="second"))))
    yield Verb("claims.close", lambda engine: _taken(engine)[1].settle)


def _verbs_of_the_api() -> Iterator[Verb]:
    """Verbs that only requests call."""
    changes = item_input.read_changes("a", data={"n": 1}, due=UNSET, priority=UNSET)
    plan = plans.planned("daily", "work", every="24h")
    yield _simple("items.put", lambda on: on.run(item_resources.put, "work", "a", data=1), repeats=True)
    yield _simple(
        "items.save with failures", lambda on: on.run(item_resources.save, "work", "a", changes=changes), repeats=True
    )
    yield _simple("items.remove", lambda on: on.run(item_resources.remove, "work", "a"))
    yield _simple("lists.put", lambda on: on.run(lists.put, "new", Settings(attempts=9)), repeats=True)
    yield _simple("schedules.add", lambda on: on.run(schedules.add, ("daily", plan)))
    yield _simple("topics.put", lambda on: on.run(topics.put, "new", {"price": "number"}))
    yield _simple("subscriptions.unsubscribe", lambda on: on.run(subscriptions.unsubscribe, "comics", 1))


def _taking(session: Any, name: str) -> Call:
    return lambda: session.take(name, limit=2)
