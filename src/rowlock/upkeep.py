"""Upkeep: one bounded pass of housekeeping. Every worker runs it now and then; no item of any list depends on it."""

from random import Random

import msgspec

from rowlock import (
    audit,
    claims,
    gates,
    idempotency,
    leases,
    lists,
    schedules,
    sessions,
    tallies,
    tokens,
    topics,
    watermarks,
)
from rowlock.db import Database, Transaction
from rowlock.heartbeats import HeartbeatMonitor
from rowlock.topics import cleanup, reindex

FOLD_BATCHES_PER_PASS = 4
"""Batches of tallies added up in one pass: enough to keep up with thousands of small settlements a second."""


class UpkeepReport(msgspec.Struct, frozen=True):
    """What a pass did."""

    expired: int = 0
    promoted: int = 0
    opened: int = 0
    folded: int = 0
    pruned: int = 0
    ticked: int = 0
    """Items that schedules made."""
    stuck: int = 0
    """Schedules whose time this machine cannot tell: a package or a time zone is missing."""


SESSION_CHECK_SECONDS = 1.0
"""How often who stays looks at sessions: so soon after its time is the death of one seen."""
MAX_SESSIONS_PER_PASS = 10
"""Sessions that are expired in one transaction."""


def monitor(database: Database) -> HeartbeatMonitor:
    """A monitor of the database's sessions for one process or thread, which has seen nothing yet."""
    return HeartbeatMonitor(database.environment.monotonic, trusts_clock=database.clock_is_given)


def expire(database: Database, watched: HeartbeatMonitor) -> int:
    """End the sessions that this process has seen dead; how many. One read where all live."""
    dead = watched.dead(database.read(sessions.silent))
    return database.run(sessions.expire, dead[:MAX_SESSIONS_PER_PASS]) if dead else 0


def wait_and_expire(database: Database, watched: HeartbeatMonitor, *, seconds: float) -> int:
    """Watch sessions that are overdue until it is certain which are dead, and end those; how many.

    For processes that do not stay: one that has just begun has seen no session long enough. It gives up on what would
    take longer than so many seconds.
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
    """Tick, bury the dead, put due items in line, open gates, add up tallies, forget old history; a little of each."""
    schedules.set_right(database)
    ticks = schedules.tick_due(database)
    expired = expire(database, watched)
    database.run(leases.release_idle)
    promoted = database.run(promote_due)
    opened = database.run(gates.advance_idle_lists, chance=Random())
    folded = _fold(database)
    pruned = database.run(prune) + _keep_topics(database)
    database.run(watermarks.record)
    stuck = sum(tick.stuck is not None for tick in ticks)
    return UpkeepReport(expired, promoted, opened, folded, pruned, sum(tick.added for tick in ticks), stuck)


class Housekeeping:
    """Upkeep that goes on beside other work: a look at sessions every second, a whole pass every so many seconds."""

    def __init__(self, database: Database, *, seconds: float) -> None:
        self._database = database
        self._environment = database.environment
        self._seconds = seconds
        self._watched = monitor(database)
        self._pass_at = self._next_pass()

    @property
    def pause(self) -> float:
        """Seconds until it shall go on."""
        return self._environment.jittered(min(self._seconds, SESSION_CHECK_SECONDS))

    def go_on(self) -> None:
        """End sessions that are dead, and do a whole pass if it is time for one."""
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
    database.run(reindex.reindex_some, chance=Random())
    return sum(database.run(verb) for verb in (cleanup.finish_records, cleanup.delete_ended, cleanup.prune))


def _fold(database: Database) -> int:
    folded = 0
    for _ in range(FOLD_BATCHES_PER_PASS):
        batch = database.run(tallies.fold)
        folded += batch
        if not batch:
            break
    return folded


def promote_due(tx: Transaction, *, limit: int = 10) -> int:
    """Put due items in line on lists that are awake, also where nobody claims just now; how many."""
    tx.run("claims/planner_hints")
    lists.apply_wakes(tx)
    return sum(claims.promote(tx, each.id) for each in lists.awake(tx, limit=limit))


def prune(tx: Transaction, *, limit: int = 1000) -> int:
    """Forget results, errors and records past their time, and suspicions that came to nothing; how many rows."""
    tx.run("claims/clear_suspects")
    settled = tx.run("errors/prune", limit=limit) + tx.run("results/prune", limit=limit)
    asked = idempotency.prune(tx, limit=limit) + tokens.prune(tx, limit=limit)
    return settled + asked + audit.prune(tx, limit=limit)
