"""Batch handlers: run for all items of a claim, and settled in one transaction with what the handler writes."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from rowlock import limits, settlements
from rowlock.attempts import resolve
from rowlock.engine import Session, Transaction
from rowlock.errors import DatabaseBusy, InvalidOutcome, ItemsGone, Stale, Unavailable
from rowlock.model import Item
from rowlock.outcomes import Done, Outcome, Retry, Verdict, from_exception, from_return_value
from rowlock.worker.backend import Backend
from rowlock.worker.in_flight import InFlightClaim

log = logging.getLogger("rowlock.worker")

MAX_TRIES = 3


class Cancelled(Exception):
    """The turn ended before the handler did: what it wrote must be rolled back."""


def run_batch(backend: Backend, session: Session, claim: InFlightClaim) -> list[Verdict] | None:
    """Run the handler and settle in its transaction; return the verdicts, or None if the worker has to settle.

    After a conflict in the database the handler runs again; anything else that it raises is every item's outcome.
    """
    for _ in range(MAX_TRIES):
        try:
            return _run_once(backend, session, claim)
        except DatabaseBusy:
            continue
        except ItemsGone as error:
            # What the handler wrote is rolled back. What is left has another turn, which counts as no attempt.
            about = {"list": claim.list, "token": claim.token, "keys": error.fields["keys"]}
            log.warning("items gone", extra=about)
            _finish_all(claim, Retry(after=0, counted=False, kind=error.code))
            return None
        except Stale as error:
            log.warning("claim lost", extra={"list": claim.list, "token": claim.token, "code": error.code})
            claim.ended = True
            return None
        except Cancelled:
            return None
        except Unavailable as error:
            # The database's fault, not the items'. If it was committed after all, the claim has ended and this is void.
            _finish_all(claim, Retry(str(error), counted=False, kind=error.code))
            return None
        except BaseException as error:
            _finish_all(claim, from_exception(error))
            return None
    _finish_all(claim, Retry("the database had too many conflicting writers", counted=False, kind="conflict"))
    return None


def _run_once(backend: Backend, session: Session, claim: InFlightClaim) -> list[Verdict] | None:
    if claim.handler.arguments == 1:
        _finish_each(claim, _ended(claim, None))
        return None
    with backend.transaction() as tx:
        outcomes = _ended(claim, tx)
        verdicts = _settle(backend, tx, session, claim, outcomes) if tx.begun else None
    claim.ended = verdicts is not None
    # A handler that wrote nothing is settled by the worker, which claims in the same pipeline.
    _finish_each(claim, outcomes)
    return verdicts


def _ended(claim: InFlightClaim, tx: Transaction | None) -> list[Outcome]:
    outcomes = _outcomes(_called(claim, tx), claim)
    if claim.cancelled.is_set():
        raise Cancelled
    return outcomes


def _finish_each(claim: InFlightClaim, outcomes: list[Outcome]) -> None:
    claim.finished = list(zip(claim.items, outcomes, strict=True))


def _called(claim: InFlightClaim, tx: Transaction | None) -> Any:
    items = list(claim.items)
    claim.begin(*items)
    if claim.spans is None:
        return _answer(claim, items, tx)
    with claim.spans.of_batch(items):
        return _answer(claim, items, tx)


def _answer(claim: InFlightClaim, items: list[Item], tx: Transaction | None) -> Any:
    return claim.handler.function(items, tx) if claim.handler.arguments == 2 else claim.handler.function(items)


def _outcomes(answer: Any, claim: InFlightClaim) -> list[Outcome]:
    items = claim.items
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
        what = f"the handler must return one outcome per item, {len(items)} in all, got {len(outcomes)}"
        raise InvalidOutcome(what, "return one for each, a mapping by key, or None for all done")
    return outcomes


def _settle(
    backend: Backend, tx: Transaction, session: Session, claim: InFlightClaim, outcomes: list[Outcome]
) -> list[Verdict]:
    items, token = claim.items, claim.token
    keys = {item.position: item.key for item in items}
    if claim.settles_whole and all(type(outcome) is Done for outcome in outcomes):
        if claim.settles_each:
            tx.run(limits.wake, claim.list)
        verdicts: list[Verdict] = tx.run(settlements.settle_done_beside, session.id, token, keys=keys)
        return verdicts
    settling = [
        (item.position, resolve(outcome, item.attempts, claim.rules, backend.engine.environment.random))
        for item, outcome in zip(items, outcomes, strict=True)
    ]
    return list(tx.run(settlements.settle_beside, session.id, token, settling, keys=keys, holder=session.holder))


def _finish_all(claim: InFlightClaim, outcome: Outcome) -> None:
    for item in claim.items:
        claim.finish(item, outcome)
