"""Upkeep: one bounded pass of housekeeping. Every worker runs it now and then; no item of any list depends on it."""

from random import Random

import msgspec

from rowlock import (
    audit,
    claims,
    gates,
    leases,
    lists,
    marks,
    requests,
    schedules,
    sessions,
    tallies,
    tokens,
    topics,
)
from rowlock.db import Database, Transaction
from rowlock.topics import refiling, tidying

FOLDS = 4
"""Batches of tallies added up in one pass: enough to keep up with thousands of small settlements a second."""


class Report(msgspec.Struct, frozen=True):
    """What a pass did."""

    expired: int
    promoted: int
    opened: int
    folded: int
    pruned: int
    ticked: int = 0
    """Items that schedules made."""
    stuck: int = 0
    """Schedules whose time this machine cannot tell: a package or a time zone is missing."""


def once(database: Database) -> Report:
    """Tick, bury the dead, put due items in line, open gates, add up tallies, forget old history; a little of each."""
    schedules.set_right(database)
    ticks = schedules.tick_due(database)
    expired = database.run(sessions.expire)
    database.run(leases.end_idle)
    promoted = database.run(promote_due)
    opened = database.run(gates.go_on_where_nobody_looks, chance=Random())
    folded = _fold(database)
    pruned = database.run(prune) + _keep_topics(database)
    database.run(marks.note)
    stuck = sum(tick.stuck is not None for tick in ticks)
    return Report(expired, promoted, opened, folded, pruned, sum(tick.added for tick in ticks), stuck)


def _keep_topics(database: Database) -> int:
    if not database.read(topics.page, limit=1):
        return 0
    database.run(refiling.refile_some, chance=Random())
    return sum(database.run(verb) for verb in (tidying.finish_records, tidying.sweep_gone, tidying.prune))


def _fold(database: Database) -> int:
    folded = 0
    for _ in range(FOLDS):
        batch = database.run(tallies.fold)
        folded += batch
        if not batch:
            break
    return folded


def promote_due(tx: Transaction, *, limit: int = 10) -> int:
    """Put due items in line on lists that are awake, also where nobody claims just now; how many."""
    lists.answer_calls(tx)
    return sum(claims.promote(tx, each.id) for each in lists.awake(tx, limit=limit))


def prune(tx: Transaction, *, limit: int = 1000) -> int:
    """Forget results, errors and records past their time, and suspicions that came to nothing; how many rows."""
    tx.run("claims/clear_suspects")
    settled = tx.run("errors/prune", limit=limit) + tx.run("results/prune", limit=limit)
    asked = requests.prune(tx, limit=limit) + tokens.prune(tx, limit=limit)
    return settled + asked + audit.prune(tx, limit=limit)
