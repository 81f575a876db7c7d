"""Upkeep: a bounded pass of housekeeping that every worker runs now and then. No item depends on it."""

from random import Random

import msgspec

from rowlock import (
    audit,
    backlog,
    claims,
    done_keys,
    epochs,
    gates,
    idempotency,
    leases,
    lists,
    schedules,
    sessions,
    tallies,
    tokens,
    topics,
)
from rowlock.db import Database, Tx
from rowlock.heartbeats import HeartbeatMonitor
from rowlock.topics import maintenance

FOLD_BATCHES_PER_PASS = 4
"""Enough to keep up with thousands of small settlements a second."""
SESSION_CHECK_SECONDS = 1.0
"""How often a long-running process looks for dead sessions."""
MAX_SESSIONS_PER_PASS = 10
"""Sessions that are ended in one transaction."""


PRUNED = (done_keys.prune, idempotency.prune, tokens.prune, audit.prune, tallies.prune_periods)


class UpkeepReport(msgspec.Struct, frozen=True):
    """What a pass of upkeep did."""

    expired: int = 0
    promoted: int = 0
    opened: int = 0
    folded: int = 0
    pruned: int = 0
    ticked: int = 0
    """Items that schedules added."""
    stuck: int = 0
    """Schedules whose next tick cannot be computed here: a package or a time zone is missing."""


def monitor(database: Database) -> HeartbeatMonitor:
    """Make a monitor of the database's sessions for one process or thread."""
    return HeartbeatMonitor(database.environment.monotonic, trusts_clock=database.clock is not None)


def expire(database: Database, watched: HeartbeatMonitor) -> int:
    """End the sessions whose heartbeats have stopped, and return how many. One read if there are none."""
    dead = watched.dead(database.read(sessions.silent))
    return database.run(sessions.expire, dead[:MAX_SESSIONS_PER_PASS]) if dead else 0


def wait_and_expire(database: Database, watched: HeartbeatMonitor, *, seconds: float) -> int:
    """Wait until it is certain which overdue sessions are dead, end those, and return how many.

    For short-lived processes: one that has just started has not observed any session long enough. Sessions that would
    take longer than `seconds` are left.
    """
    environment = database.environment
    until, expired = environment.monotonic() + seconds, 0
    while True:
        while some := expire(database, watched):
            expired += some
        left = watched.seconds_to_watch(database.read(sessions.silent))
        if left is None or environment.monotonic() + left > until:
            return expired
        environment.sleep(left)


def run_pass(database: Database, watched: HeartbeatMonitor) -> UpkeepReport:
    """Run schedules, expire sessions, promote items, open gates, fold tallies, prune history; a part of each."""
    epochs.watch(database)
    schedules.set_right(database)
    ticks = schedules.tick_due(database)
    expired = expire(database, watched)
    database.run(leases.release_idle)
    promoted = database.run(promote_due)
    opened = database.run(gates.advance_idle_lists, chance=_chance(database))
    folded = _fold(database)
    pruned = database.run(prune) + _keep_topics(database)
    database.run(backlog.record_watermark)
    stuck = sum(tick.stuck is not None for tick in ticks)
    return UpkeepReport(expired, promoted, opened, folded, pruned, sum(tick.added for tick in ticks), stuck)


class Housekeeping:
    """Upkeep of a long-running process: a check of sessions every second, a whole pass every `seconds`."""

    def __init__(self, database: Database, *, seconds: float) -> None:
        self._database = database
        self._environment = database.environment
        self._seconds = seconds
        self._watched = monitor(database)
        self._pass_at = self._next_pass()

    @property
    def pause(self) -> float:
        """Seconds until the next step."""
        return self._environment.jittered(min(self._seconds, SESSION_CHECK_SECONDS))

    def go_on(self) -> None:
        """End dead sessions, and run a whole pass if it is due."""
        if self._environment.monotonic() < self._pass_at:
            expire(self._database, self._watched)
            return
        self._pass_at = self._next_pass()
        run_pass(self._database, self._watched)

    def _next_pass(self) -> float:
        return self._environment.monotonic() + self._environment.jittered(self._seconds)


def _keep_topics(database: Database) -> int:
    if not database.read(topics.page, limit=1):
        return 0
    database.run(maintenance.reindex_some, chance=_chance(database))
    return sum(database.run(verb) for verb in (maintenance.finish_records, maintenance.delete_ended, maintenance.prune))


def _chance(database: Database) -> Random:
    return Random(database.environment.random())  # a simulation repeats it


def _fold(database: Database) -> int:
    folded = 0
    for _ in range(FOLD_BATCHES_PER_PASS):
        batch = database.run(tallies.fold)
        folded += batch
        if not batch:
            break
    return folded


def promote_due(tx: Tx, *, limit: int = 10) -> int:
    """Promote due items of lists that are awake, also if nobody claims from them; return how many."""
    tx.send_to_server("claims/planner_hints")
    lists.apply_wakes(tx)
    return sum(claims.promote(tx, each.id) for each in lists.awake(tx, limit=limit))


def prune(tx: Tx, *, limit: int = 1000) -> int:
    """Delete results, errors and other rows past their time, and suspects that were settled; return how many rows."""
    tx.run("claims/clear_suspects")
    left_by_items = tx.run("errors/prune", limit=limit) + tx.run("results/prune", limit=limit)
    return left_by_items + sum(each(tx, limit=limit) for each in PRUNED)
