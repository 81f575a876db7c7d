"""Batch handlers: all items of a claim, and the transaction that settles them with what the handler wrote."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from rowlock import limits, settlements
from rowlock.attempts import resolve
from rowlock.engine import Session, Transaction
from rowlock.errors import DatabaseBusy, InvalidOutcome, ItemsGone, Stale, Unavailable
from rowlock.model import Item
from rowlock.outcomes import Done, Outcome, Retry, Verdict, from_exception, from_return_value
from rowlock.worker.hands import Hand
from rowlock.worker.source import Post

log = logging.getLogger("rowlock.worker")

TRIES = 3


class Cancelled(Exception):
    """The turn was over before the handler: what it wrote must not stay."""


def run_batch(post: Post, session: Session, hand: Hand) -> list[Verdict] | None:
    """Run the handler and settle in its transaction; the verdicts, or None if outcomes were left in the hand instead.

    A conflict in the database runs the handler again, like a verb; anything else it raises is every item's outcome.
    """
    for _ in range(TRIES):
        try:
            return _run_once(post, session, hand)
        except DatabaseBusy:
            continue
        except ItemsGone as error:
            # What the handler wrote is rolled back. What is left has another turn, and nobody is charged for it.
            about = {"list": hand.taken.list, "token": hand.taken.token, "keys": error.fields["keys"]}
            log.warning("items gone", extra=about)
            _finish_all(hand, Retry(after=0, counted=False, kind=error.code))
            return None
        except Stale as error:
            log.warning("claim lost", extra={"list": hand.taken.list, "token": hand.taken.token, "code": error.code})
            hand.over = True
            return None
        except Cancelled:
            return None
        except Unavailable as error:
            # Nobody's fault but the database's. If it landed after all, the claim is gone and this comes to nothing.
            _finish_all(hand, Retry(str(error), counted=False, kind=error.code))
            return None
        except BaseException as error:
            _finish_all(hand, from_exception(error))
            return None
    _finish_all(hand, Retry("the database had too many conflicting writers", counted=False, kind="conflict"))
    return None


def _run_once(post: Post, session: Session, hand: Hand) -> list[Verdict] | None:
    if hand.handler.arguments == 1:
        _finish_each(hand, _ended(hand, None))
        return None
    with post.transaction() as tx:
        outcomes = _ended(hand, tx)
        verdicts = _settle(post, tx, session, hand, outcomes) if tx.begun else None
    hand.over = verdicts is not None
    # What wrote nothing is settled by the worker, which claims in the same trip.
    _finish_each(hand, outcomes)
    return verdicts


def _ended(hand: Hand, tx: Transaction | None) -> list[Outcome]:
    outcomes = _outcomes(_called(hand, tx), hand)
    if hand.cancelled.is_set():
        raise Cancelled
    return outcomes


def _finish_each(hand: Hand, outcomes: list[Outcome]) -> None:
    hand.finished = list(zip(hand.taken.items, outcomes, strict=True))


def _called(hand: Hand, tx: Transaction | None) -> Any:
    items = list(hand.taken.items)
    hand.begin(*items)
    if hand.spans is None:
        return _answer(hand, items, tx)
    with hand.spans.of_batch(items):
        return _answer(hand, items, tx)


def _answer(hand: Hand, items: list[Item], tx: Transaction | None) -> Any:
    return hand.handler.function(items, tx) if hand.handler.arguments == 2 else hand.handler.function(items)


def _outcomes(answer: Any, hand: Hand) -> list[Outcome]:
    items = hand.taken.items
    if answer is None:
        return [Done()] * len(items)
    if isinstance(answer, Mapping):
        return [from_return_value(answer.get(item.key)) for item in items]
    if isinstance(answer, Outcome):
        return [answer] * len(items)
    if not isinstance(answer, Iterable) or isinstance(answer, str | bytes):
        return [from_return_value(answer)]
    outcomes = [from_return_value(each) for each in answer]
    if len(outcomes) != len(items):
        what = f"the handler gave {len(outcomes)} outcomes for {len(items)} items"
        raise InvalidOutcome(what, "give one for each, a mapping by key, or None for all done")
    return outcomes


def _settle(post: Post, tx: Transaction, session: Session, hand: Hand, outcomes: list[Outcome]) -> list[Verdict]:
    items, token = hand.taken.items, hand.taken.token
    keys = {item.position: item.key for item in items}
    if hand.plain and all(type(outcome) is Done for outcome in outcomes):
        if hand.eager:
            tx.run(limits.wake, hand.taken.list)
        verdicts: list[Verdict] = tx.run(settlements.settle_done_beside, session.id, token, keys=keys)
        return verdicts
    settling = [
        (item.position, resolve(outcome, item.attempts, hand.rules, post.source.world.random))
        for item, outcome in zip(items, outcomes, strict=True)
    ]
    return list(tx.run(settlements.settle_beside, session.id, token, settling, keys=keys, holder=session.holder))


def _finish_all(hand: Hand, outcome: Outcome) -> None:
    for item in hand.taken.items:
        hand.finish(item, outcome)
