"""Batch handlers: run for all items of a claim, and settled in one transaction with what the handler writes."""

import logging
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Any

from rowlock import limits, settlements
from rowlock.engine import Session, Transaction
from rowlock.errors import DatabaseBusy, InvalidOutcome, ItemsGone, Stale, Unavailable
from rowlock.outcomes import Done, Outcome, Retry, Verdict, from_return_value
from rowlock.retry_policy import resolve
from rowlock.worker.backend import Backend
from rowlock.worker.settler import InFlightClaim

log = logging.getLogger("rowlock.worker")

MAX_TRIES = 3


class Cancelled(Exception):
    """The turn ended before the handler did: what it wrote must be rolled back."""


def run_batch(backend: Backend, session: Session, claim: InFlightClaim) -> list[Verdict] | None:
    """Run the handler and settle in its transaction; return the verdicts, or None if the worker has to settle.

    After a conflict in the database the handler runs again; anything else that it raises is every item's outcome.
    """
    outcome: Outcome = Retry("the database had too many conflicting writers", counted=False, kind="conflict")
    for _ in range(MAX_TRIES):
        try:
            return _run_once(backend, session, claim)
        except DatabaseBusy:
            continue
        except ItemsGone as error:
            # What the handler wrote is rolled back. What is left has another turn, which counts as no attempt.
            about = {"list": claim.list, "token": claim.token, "keys": error.fields["keys"]}
            log.warning("items gone", extra=about)
            outcome = Retry(after=0, counted=False, kind=error.code)
        except Stale as error:
            log.warning("claim lost", extra={"list": claim.list, "token": claim.token, "code": error.code})
            claim.ended = True
            return None
        except Cancelled:
            return None
        except Unavailable as error:
            # The database's fault, not the items'. If it was committed after all, the claim has ended and this is void.
            outcome = Retry(str(error), counted=False, kind=error.code)
        except BaseException as error:
            outcome = claim.failed(error)
        break
    claim.finish_all([outcome] * len(claim.items))
    return None


def _run_once(backend: Backend, session: Session, claim: InFlightClaim) -> list[Verdict] | None:
    if claim.handler.arguments == 1:
        claim.finish_all(_outcomes(claim, None))
        return None
    with backend.transaction() as tx:
        outcomes = _outcomes(claim, tx)
        verdicts = _settle(backend, tx, session, claim, outcomes) if tx.begun else None
    claim.ended = verdicts is not None
    # A handler that wrote nothing is settled by the worker, which claims in the same pipeline.
    claim.finish_all(outcomes)
    return verdicts


def _outcomes(claim: InFlightClaim, tx: Transaction | None) -> list[Outcome]:
    """Call the handler, and return the outcome of each item."""
    items = list(claim.items)
    if claim.before is not None:
        for item in items:
            claim.before(item)
    with nullcontext() if claim.spans is None else claim.spans.of_batch(items):
        returned = claim.handler.function(items, tx) if claim.handler.arguments == 2 else claim.handler.function(items)
    outcomes = _outcome_of_each(returned, claim)
    if claim.cancelled.is_set():
        raise Cancelled
    return outcomes


def _outcome_of_each(returned: Any, claim: InFlightClaim) -> list[Outcome]:
    items = claim.items
    if returned is None:
        return [Done()] * len(items)
    if isinstance(returned, Mapping):
        return [from_return_value(returned.get(item.key)) for item in items]
    if isinstance(returned, Outcome):
        return [returned] * len(items)
    if not isinstance(returned, Iterable) or isinstance(returned, str | bytes):
        return [from_return_value(returned)]
    outcomes = [from_return_value(each) for each in returned]
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
