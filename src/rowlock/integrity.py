"""Check: what must be true of stored rows at any moment, whatever crashed. Each statement looks at one moment."""

import msgspec

from rowlock.db import Transaction

RULES = {
    "claims_out_of_bounds": "the claim {} has {} of {} items left in the interval from {} to {}",
    "claims_without_session": "the claim {} is held by the session {}, which is no more",
    "closed_lanes": "the item {1!r} of the list {0!r} has the priority {2}, of which the list hands out nothing",
    "delayed_and_failed": "the item {1!r} of the list {0!r} is delayed and failed at once",
    "forgotten_waiters": "the item {1!r} of the list {0!r} waits for a list that is complete or no more",
    "items_without_family": "the item {1!r} of the list {0!r} has no family, and would never be handed out",
    "leases_without_session": "the list {!r} is in the hands of the session {}, which is no more",
    "lists_in_no_hands": "the list {!r} is marked as in somebody's hands, and is in none",
    "orphans": "there are {2} {0} of the list number {1}, which is no more",
    "overlapping_claims": "the claims {3} and {4} overlap in the list {0!r}, gate {1}, priority {2}",
    "passed_items": "the item {1!r} stands at gate {2} of the list {0!r}, which is at gate {3} already",
    "shared_positions": "the position {} is held by {} items",
    "sleeping_lists": "the list {0!r} sleeps although {1!r} is free, or is due before it wakes",
    "tallies_off": "the tallies of the list {!r}, gate {}, differ from its items by {} items, {} delayed, {} failed",
    "unopened_gates": "the list {0!r} sleeps at gate {1} although nothing is left there and something waits",
}
"""The statement that finds what breaks a rule, and how to say it."""


REPAIRS = {
    "closed_lanes": "add an item of that priority to the list: then all of them are handed out",
    "passed_items": "it is never handed out: note its data (rowlock show), abandon it and add it again",
}
"""What to do about it, where a user can; the rest is to be reported."""

REPORT_HINT = "report it: this is a bug"


class Violation(msgspec.Struct, frozen=True):
    """A rule that stored rows break."""

    what: str
    hint: str


def violations(tx: Transaction) -> list[Violation]:
    """Every rule that stored rows break, with what to do; none if all is well. Costs a scan of all items."""
    return [
        Violation(told.format(*row), REPAIRS.get(name, REPORT_HINT))
        for name, told in RULES.items()
        for row in tx.rows(f"integrity/{name}")
    ]


def check(tx: Transaction) -> list[str]:
    """The same, one sentence each."""
    return [each.what for each in violations(tx)]
