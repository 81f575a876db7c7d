"""Checks of stored data: what must be true of the rows at any moment, whatever crashed. One statement for each rule."""

import msgspec

from rowlock.db import Transaction

RULES = {
    "claims_out_of_bounds": "the claim {} has {} of {} items left in the interval from {} to {}",
    "claims_without_session": "the claim {} is held by the session {}, which does not exist",
    "closed_lanes": "the item {1!r} of the list {0!r} has the priority {2}, which the list does not hand out",
    "delayed_and_failed": "the item {1!r} of the list {0!r} is both delayed and failed",
    "forgotten_waiters": "the item {1!r} of the list {0!r} waits for a list that is complete or does not exist",
    "items_without_family": "the item {1!r} of the list {0!r} has no family and is never handed out",
    "leases_without_session": "the list {!r} is leased to the session {}, which does not exist",
    "lists_in_no_hands": "the list {!r} is marked as leased but has no lease",
    "orphans": "there are {2} {0} of the list number {1}, which does not exist",
    "overlapping_claims": "the claims {3} and {4} overlap in the list {0!r}, gate {1}, priority {2}",
    "passed_items": "the item {1!r} is at gate {2} of the list {0!r}, which is past it, at gate {3}",
    "shared_positions": "the position {} belongs to {} items",
    "sleeping_lists": "the list {0!r} sleeps although {1!r} is free, or is due before the list wakes",
    "tallies_off": "the tallies of the list {!r}, gate {}, differ from its items by {} items, {} delayed, {} failed",
    "unopened_gates": "the list {0!r} sleeps at gate {1} although nothing is left there and later items wait",
}
"""The statement that finds violations of a rule, and the sentence about each row that it gives."""

REPAIRS = {
    "closed_lanes": "add an item of that priority to the list: then all of them are handed out",
    "passed_items": "it is never handed out: note its data (rowlock show), abandon it and add it again",
}
"""What a user can do about a violation; others are to be reported."""

REPORT_HINT = "report it: this is a bug"


class Violation(msgspec.Struct, frozen=True):
    """A rule that stored rows break."""

    what: str
    hint: str


def violations(tx: Transaction) -> list[Violation]:
    """Return every violation of a rule, with what to do. Scans all items."""
    return [
        Violation(sentence.format(*row), REPAIRS.get(name, REPORT_HINT))
        for name, sentence in RULES.items()
        for row in tx.rows(f"integrity/{name}")
    ]


def check(tx: Transaction) -> list[str]:
    """Return every violation of a rule as a sentence."""
    return [each.what for each in violations(tx)]
