"""Elsewhere: claims and settlements for workers that hold no engine, by key or as they were handed out.

Whoever speaks for them may be another process each time: nothing is remembered but in the
database. Verbs are functions of a transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from rowlock import attempts, claims, idempotency, lists, sessions, settlements
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.db import Transaction, unflushed
from rowlock.errors import StaleClaim
from rowlock.group_commit import groupable
from rowlock.item_input import encode_json
from rowlock.outcomes import Outcome, Verdict, from_return_value
from rowlock.receipts import OutcomesByPosition
from rowlock.roles import covers

LENGTH = "expiry"
"""Where a session's length is noted among its details, for beats that do not tell it."""


def open_session(
    tx: Transaction,
    session: str,
    *,
    holder: str,
    expiry: int,
    details: Mapping[str, Any],
    scope: Sequence[str] = (),
    seeks: Sequence[str] = (),
) -> int:
    """Enter a worker, held to lists with these prefixes if there are any; the moment until which it lives.

    One who is there already stays alive: so it may be asked again.
    """
    if sessions.beat(tx, session, expiry=expiry):
        if not sessions.is_within(tx, session, scope):
            raise claims.lost(session)
        return _until(tx, session)
    noted = {**details, LENGTH: expiry}
    sessions.open_session(tx, session, holder=holder, expiry=expiry, details=noted, seeks=seeks)
    if scope:
        sessions.set_scope(tx, session, scope)
    return _until(tx, session)


def beat(tx: Transaction, session: str, *, expiry: int | None = None) -> int:
    """Stay alive for as long again, or as is said; the moment until which it lives. StaleSession if it is no more."""
    if expiry is None:
        known = tx.value("sessions/details", session=session)
        details = msgspec.json.decode(known) if known else {}
        expiry = (
            details.get(LENGTH, sessions.EXPIRY_MILLISECONDS)
            if isinstance(details, dict)
            else sessions.EXPIRY_MILLISECONDS
        )
    if not sessions.beat(tx, session, expiry=expiry):
        raise claims.lost(session)
    return _until(tx, session)


def _until(tx: Transaction, session: str) -> int:
    until: int = tx.value("sessions/expires_at", session=session)
    return until


@unflushed
@groupable(claims.group_key)
def take(tx: Transaction, request: ClaimRequest, *, thorough: bool) -> ClaimedItems | None:
    """The next items of a list by the asker's rules or the list's own, or None if nothing is ready.

    StaleSession if nobody asks.
    """
    if request.attempts is None:
        row = lists.find(tx, request.list)
        rules = attempts.policy(row.settings.attempts if row else None)
        request = msgspec.structs.replace(request, attempts=rules.attempts)
    taken = None if thorough else claims.take(tx, request)
    if taken is None:
        taken = claims.take_thoroughly(tx, request)
    if taken is None and tx.row("sessions/alive", session=request.session) is None:
        raise claims.lost(request.session)
    return taken


@unflushed
@groupable(claims.group_key)
def take_once(tx: Transaction, request: ClaimRequest, *, thorough: bool, key: str) -> ClaimedItems | None:
    """The same under a key: asked again, the claim of the first time with what is left of it."""
    fingerprint = idempotency.digest(request.session, request.list, str(request.limit))
    token = idempotency.find(tx, key, fingerprint)
    if token is not None:
        taken = claims.left(tx, request.session, token)
        if taken is None:
            raise _gone(Settlement(request.session, token, {}))
        return taken
    taken = take(tx, request, thorough=thorough)
    if taken is not None:
        idempotency.record(tx, key, fingerprint, answer=taken.token)
    return taken


@unflushed
@groupable(claims.group_key)
def take_named(tx: Transaction, request: ClaimRequest, *, thorough: bool, noted: bool = False) -> ClaimedItems | None:
    """The same under a token that the asker has chosen: asked again, the claim of that name with what is left of it.

    With `noted` it is kept with the session what was handed out, for whoever settles it from another process.
    """
    known = claims.left(tx, request.session, request.token)
    if known is not None and known.items:
        return known
    if known is not None:
        claims.close(tx, request.session, request.token)
    taken = take(tx, request, thorough=thorough)
    if taken is not None and noted:
        sessions.note_handed(tx, request.session, taken)
    return taken


class Settlement(msgspec.Struct, frozen=True):
    """What a worker says of items that it has claimed."""

    session: str
    token: str
    said: dict[str, Outcome]
    """The outcome of each item, by its key."""
    close: bool = False
    """Whether the claim ends, whatever is left of it."""
    prefixes: tuple[str, ...] = ()
    """Of the lists that they may touch; none for all."""

    @property
    def receipt(self) -> str:
        """By which the same settlement is known again."""
        return idempotency.digest("settle", self.session, self.token, encode_json([[*self.said.items()], self.close]))


def settle(tx: Transaction, settlement: Settlement, *, random: Callable[[], float]) -> dict[str, Verdict]:
    """Write the outcome of each key that stands under the claim; the verdict on each.

    StaleClaim, and nothing written, if the claim is no more. The same asked for again is answered as before. The claim
    ends when nothing of it is left.
    """
    session, token, said = settlement.session, settlement.token, settlement.said
    held = settlements.hold(tx, session, token)
    if held is not None and not covers(settlement.prefixes, held.name):
        raise _gone(settlement)
    standing = {} if held is None else _standing(tx, held, list(said))
    if held is None or len(standing) < len(said):
        before = idempotency.find(tx, settlement.receipt, token)
        if before is not None:
            return dict(zip(said, map(_VERDICTS.__getitem__, before), strict=True))
    if held is None:
        raise _gone(settlement)
    verdicts = dict.fromkeys(said, Verdict.GONE) | _written(tx, held, settlement, standing, random)
    idempotency.record(tx, settlement.receipt, token, answer="".join(verdict[0] for verdict in verdicts.values()))
    return verdicts


_VERDICTS = {verdict[0]: verdict for verdict in Verdict}


def _standing(tx: Transaction, held: settlements.HeldClaim, keys: list[str]) -> dict[str, tuple[int, int]]:
    where = {**held.lane, "low": held.low, "high": held.high}
    rows = tx.rows("items/named_in_claim", keys=encode_json(keys), **where) if keys else []
    return {key: (position, failed) for position, key, failed in rows}


def _written(
    tx: Transaction,
    held: settlements.HeldClaim,
    settlement: Settlement,
    standing: Mapping[str, tuple[int, int]],
    random: Callable[[], float],
) -> dict[str, Verdict]:
    session, token = settlement.session, settlement.token
    close = settlement.close or held.remaining <= len(standing)
    if not standing:
        if close:
            claims.close(tx, session, token)
        return {}
    rules = attempts.policy(held.attempts, held.settings.backoff)
    keys = [key for key in settlement.said if key in standing]
    settling = [
        (standing[key][0], attempts.resolve(from_return_value(settlement.said[key]), standing[key][1], rules, random))
        for key in keys
    ]
    holder = tx.value("sessions/holder", session=session) or ""
    verdicts = settlements.settle(tx, session, token, settling, holder=holder, close=close)
    return dict(zip(keys, verdicts, strict=True))


def settle_at(
    tx: Transaction, under: Settlement, settling: OutcomesByPosition, *, plain: bool = False
) -> list[Verdict]:
    """The same by position, as who has the items in hand knows them; the verdict on each, in order.

    `plain` says that all that is left of the claim is done, and nothing is kept of it.
    """
    session, token = under.session, under.token
    if under.prefixes:
        held = settlements.hold(tx, session, token)
        if held is not None and not covers(under.prefixes, held.name):
            raise _gone(under)
    if plain:
        return settlements.settle_done(tx, session, token, [position for position, _ in settling])
    holder = tx.value("sessions/holder", session=session) or ""
    return settlements.settle(tx, session, token, settling, holder=holder, close=under.close)


def _gone(settlement: Settlement) -> StaleClaim:
    what = f"the session {settlement.session} holds no claim {settlement.token}: it was settled, closed, or has expired"
    return StaleClaim(what, "nothing was written; its items are free, or done by another", token=settlement.token)
