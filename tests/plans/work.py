"""Everything that lists are asked while they are worked, a few items at a time, beside many that nobody asks for."""

from itertools import count
from random import Random

import msgspec
import psycopg
from tests.verbs.claiming import Desk

from rowlock import Done, Engine, Fail, Move, Retry, claims, gates, items, sessions, settlements, upkeep
from rowlock.claims import ClaimedItems, ClaimRequest, Lane

BATCH = 10
LISTS = ("plain", "staged", "urgent")
OUTCOMES = [Retry("no"), Retry("no", after=3600), Move(data=1), Fail("bad"), Move(data=2), Done(), Done()]
_numbers = count(1)


def load(engine: Engine, number: int, by_hand: "psycopg.Connection[tuple[object, ...]]") -> None:
    """So many items more in each of six lists: ready, gated, delayed, of which a few are due, and failed."""
    keys = [f"{next(_numbers)}-{each:07}" for each in range(number)]
    for name in LISTS:
        engine[name].add(keys)
    engine["staged"].add([f"{key}-later" for key in keys], gate=1)
    engine["staged"].add([f"{key}-delayed" for key in keys], gate=1, due="1h")
    engine["urgent"].add([f"{key}-urgent" for key in keys], priority=2)
    engine["delayed"].add(keys, due="1h")
    engine["shut"].add(keys, gate=3)
    engine["failed"].add(keys[0])
    topic = engine.topic("comics")
    topic.define(series="text", issue="integer")
    topic.subscribe_many([(key, {"series": key, "issue": number}) for key in keys[::4][:5_000]])
    topic.subscribe("fan", series="fans")
    _spoil(by_hand, keys)


def _spoil(by_hand: "psycopg.Connection[tuple[object, ...]]", keys: list[str]) -> None:
    """What only time and workers do: items that failed and some that are due. Nothing is updated in great numbers."""
    of = "(select id from rowlock_lists where name = %s)"
    row = f"select {of}, unnest(%s::text[]), 0, 5, 1"
    failed = f"insert into rowlock_items (list, key, gate, priority, failed_at) {row}"
    by_hand.execute(failed, ["failed", keys[1:]])
    due = f"update rowlock_items set due = 1 where list = {of} and key = any (%s)"
    by_hand.execute(due, ["delayed", keys[:BATCH]])
    by_hand.execute("delete from rowlock_suspects")


def work(engine: Engine) -> None:
    """Ask everything once."""
    desk = Desk(engine)
    for name in LISTS:
        _claim_and_settle(engine, desk, name)
        _by_keys(engine, name)
    _claim_by_lane(engine, desk)
    _where_nothing_is_ready(engine, desk)
    _die(engine)
    desk.close()
    _seal(engine)
    _match(engine)
    engine.run(gates.advance_idle_lists, chance=Random(1))
    engine.run(upkeep.promote_due)


def _claim_and_settle(engine: Engine, desk: Desk, name: str) -> None:
    desk.done(desk.got(BATCH, name))
    taken = _some(desk.take(BATCH, name))
    places = [each.position for each in taken.items]
    engine.pipeline(settlements.try_settle_done.bind(desk.id, taken.token, places, use_planner_hints=True))
    desk.settle(desk.got(BATCH, name), *OUTCOMES)
    taken = desk.got(BATCH, name)
    desk.settle(taken, Done(), Retry("no"), close=False)
    engine.run(claims.close, desk.id, taken.token)


def _claim_by_lane(engine: Engine, desk: Desk) -> None:
    taken = desk.got(BATCH, "plain")
    lane = Lane(engine.read(lambda tx: tx.value("lists/find", name="plain")), 0, 5)
    asking: ClaimRequest = msgspec.structs.replace(desk.ask(BATCH, "plain", {5: taken.high}), lane=lane)
    (found,) = engine.pipeline(claims.take.bind(lambda: asking))
    places = [each.position for each in _some(found).items]
    engine.pipeline(settlements.try_settle_done.bind(desk.id, asking.token, places, use_planner_hints=True))


def _by_keys(engine: Engine, name: str) -> None:
    keys = [item.key for item in engine[name].page(limit=BATCH)]
    engine[name].done(keys[:2])
    engine[name].abandon(keys[2])
    engine[name].increment(keys[3:5])
    engine[name].increment(keys[3])
    engine[name].done(keys[4])
    engine[name].add(f"{next(_numbers)}-single")
    engine[name].add([f"{next(_numbers)}-new" for _ in range(BATCH)])
    engine[name].page(after=keys[-1], limit=BATCH)
    engine[name].page(after=keys[-1], limit=BATCH, state="ready")
    engine[name].show(keys[-1])
    engine[name].save(keys[-1], data=1)
    engine.read(items.show_many, name, keys)
    waiting = [item.key for item in engine["failed"].page(limit=BATCH, state="failed")]
    engine["failed"].retry(waiting)
    engine["failed"].failures(waiting[0])
    engine[name].search(state="claimed", error="no")
    engine["failed"].search(state="failed", attempts=1)
    engine["failed"].count_matching(state="failed", attempts=1)
    engine[name].count_matching(state="delayed")
    engine["failed"].retry_matching(state="failed", prefix=waiting[0])


def _where_nothing_is_ready(engine: Engine, desk: Desk) -> None:
    for name in ("delayed", "shut", "failed"):
        taken = desk.look(BATCH, name)
        if taken is not None:
            desk.settle(taken, *[Retry("no", after=3600)] * BATCH)
        desk.look(BATCH, name)


def _die(engine: Engine) -> None:
    late = Desk(engine, expiry=-1000)
    late.got(BATCH, "urgent")
    late.beat()
    dead = Desk(engine, expiry=-1000)
    dead.got(BATCH, "urgent")
    engine.run(sessions.expire, engine.read(sessions.silent))
    heir = Desk(engine)
    heir.done(heir.got(BATCH, "urgent"))
    heir.close()
    late.close()


def _seal(engine: Engine) -> None:
    name = f"sealed-{next(_numbers)}"
    engine[name].add(["a", "b"])
    engine[name].seal()
    engine[name].done("a")
    engine[name].abandon("b")


def _match(engine: Engine) -> None:
    record = {"series": "fans", "issue": next(_numbers)}
    assert len(engine.topic("comics").matches(record)) == 1
    engine.topic("comics").publish(record)


def _some(taken: ClaimedItems | None) -> ClaimedItems:
    assert taken is not None
    return taken
