"""Remote claims: claims and settlements for workers on other machines. Functions that take a transaction.

Each request may be answered by another process, so everything that matters is kept in the database.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from rowlock import claims, idempotency, leases, lists, retry_policy, sessions, settlements
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.db import Tx, unflushed
from rowlock.group_commit import groupable
from rowlock.json_codec import encode_json
from rowlock.outcomes import Outcome, Verdict, from_return_value
from rowlock.receipts import OutcomesByPosition
from rowlock.roles import covers
from rowlock.settlements import HeldClaim, StandingItem

EXPIRY_DETAIL = "expiry"
"""Where a session's expiry is kept among its details, for heartbeats that do not give it."""
MAX_LISTS = 1_000


def open_session(
    tx: Tx,
    session: str,
    *,
    holder: str,
    expiry: int,
    details: Mapping[str, Any],
    scope: Sequence[str] = (),
    seeks: Sequence[str] = (),
) -> int:
    """Store a session, limited to lists with the prefixes of `scope` if there are any, and return when it expires.

    A session that exists is extended, so that the request may be repeated.
    """
    if sessions.beat(tx, session, expiry=expiry):
        if not sessions.is_within(tx, session, scope):
            raise claims.lost(session)
        return _expires_at(tx, session)
    noted = {**details, EXPIRY_DETAIL: expiry}
    sessions.open_session(tx, session, holder=holder, expiry=expiry, details=noted, seeks=seeks)
    if scope:
        sessions.set_scope(tx, session, scope)
    return _expires_at(tx, session)


def beat(tx: Tx, session: str, *, expiry: int | None = None) -> int:
    """Extend a session by its expiry or the given one, and return when it expires; StaleSession if it has ended."""
    if expiry is None:
        known = tx.value("sessions/details", session=session)
        details = msgspec.json.decode(known) if known else {}
        known_expiry = details.get(EXPIRY_DETAIL) if isinstance(details, dict) else None
        expiry = sessions.EXPIRY_MILLISECONDS if known_expiry is None else known_expiry
    if not sessions.beat(tx, session, expiry=expiry):
        raise claims.lost(session)
    return _expires_at(tx, session)


def _expires_at(tx: Tx, session: str) -> int:
    expires_at: int = tx.value("sessions/expires_at", session=session)
    return expires_at


class WorkSnapshot(msgspec.Struct, frozen=True):
    """Which lists may have work, at one moment."""

    has_pending_wakes: bool
    """Whether lists were called that nobody has woken yet."""
    awake: list[str]
    next: float | None
    """Seconds until the next list wakes by itself."""
    any: list[str] = []
    """All lists that may have work, or many of them, where somebody waits for any."""


def find_work(tx: Tx, names: list[str], *, anything: bool) -> WorkSnapshot:
    """Return which of these lists may have work, and with `anything` which others, and when to look again."""
    awake = lists.awake_among(tx, names) if names else []
    others = [*lists.awake(tx, limit=MAX_LISTS), *leases.free(tx, limit=MAX_LISTS)] if anything else []
    return WorkSnapshot(lists.has_pending_wakes(tx), awake, lists.next_wake(tx), [each.name for each in others])


@unflushed
@groupable(claims.group_key)
def take(tx: Tx, request: ClaimRequest, *, thorough: bool) -> ClaimedItems | None:
    """Claim the next items of a list, by the request's attempts or the list's own; None if nothing is ready.

    StaleSession if the session has ended.
    """
    if request.attempts is None:
        row = lists.find(tx, request.list)
        rules = retry_policy.policy(row.settings.attempts if row else None)
        request = msgspec.structs.replace(request, attempts=rules.attempts)
    claimed = None if thorough else claims.take(tx, request)
    if claimed is None:
        claimed = claims.take_thoroughly(tx, request)
    if claimed is None and tx.row("sessions/alive", session=request.session) is None:
        raise claims.lost(request.session)
    return claimed


@unflushed
@groupable(claims.group_key)
def take_once(tx: Tx, request: ClaimRequest, *, thorough: bool, key: str) -> ClaimedItems | None:
    """Claim under an idempotency key: repeated, it returns the first claim with what is left of it."""
    fingerprint = idempotency.digest(request.session, request.list, str(request.limit))
    token = idempotency.find(tx, key, fingerprint)
    if token is not None:
        claimed = claims.left(tx, request.session, token)
        if claimed is None:
            raise claims.stale(request.session, token)
        return claimed
    claimed = take(tx, request, thorough=thorough)
    if claimed is not None:
        idempotency.record(tx, key, fingerprint, answer=claimed.token)
    return claimed


@unflushed
@groupable(claims.group_key)
def take_named(tx: Tx, request: ClaimRequest, *, thorough: bool, noted: bool = False) -> ClaimedItems | None:
    """Claim under a token that the worker has chosen: repeated, it returns the claim of that token.

    With `noted` the session's row keeps what was claimed, for another process that settles it.
    """
    known = claims.left(tx, request.session, request.token)
    if known is not None and known.items:
        return known
    if known is not None:
        claims.close(tx, request.session, request.token)
    claimed = take(tx, request, thorough=thorough)
    if claimed is not None and noted:
        sessions.note_handed(tx, request.session, claimed)
    return claimed


class Settlement(msgspec.Struct, frozen=True):
    """The outcomes of items that a worker has claimed."""

    session: str
    token: str
    outcomes: dict[str, Outcome]
    """By the keys of the items."""
    close: bool = False
    """Whether the claim ends, whatever is left of it."""
    prefixes: tuple[str, ...] = ()
    """Of the lists that the worker may touch; empty for all."""

    @property
    def receipt(self) -> str:
        """The digest by which a repeated settlement is known."""
        return idempotency.digest(
            "settle", self.session, self.token, encode_json([[*self.outcomes.items()], self.close])
        )


def settle(tx: Tx, settlement: Settlement, *, random: Callable[[], float]) -> dict[str, Verdict]:
    """Write the outcome of each key that the claim covers, and return the verdicts.

    StaleClaim, and nothing written, if the claim has ended. Repeated, it is answered as before. The claim ends when
    nothing of it is left.
    """
    session, token, outcomes = settlement.session, settlement.token, settlement.outcomes
    held = settlements.hold(tx, session, token)
    if held is not None and not covers(settlement.prefixes, held.name):
        raise claims.stale(session, token)
    standing = {} if held is None else _standing(tx, held, list(outcomes))
    if held is None or len(standing) < len(outcomes):
        before = idempotency.find(tx, settlement.receipt, token)
        if before is not None:
            return dict(zip(outcomes, map(_VERDICTS.__getitem__, before), strict=True))
    if held is None:
        raise claims.stale(session, token)
    verdicts = dict.fromkeys(outcomes, Verdict.GONE) | _write(tx, held, settlement, standing, random)
    idempotency.record(tx, settlement.receipt, token, answer="".join(verdict[0] for verdict in verdicts.values()))
    return verdicts


_VERDICTS = {verdict[0]: verdict for verdict in Verdict}


def _standing(tx: Tx, held: HeldClaim, keys: list[str]) -> dict[str, StandingItem]:
    if not keys:
        return {}
    interval = {**held.lane, "low": held.low, "high": held.high}
    items = tx.structs(StandingItem, "items/lock_by_keys", keys=encode_json(keys), **interval)
    return {item.key: item for item in items}


def _write(
    tx: Tx,
    held: HeldClaim,
    settlement: Settlement,
    standing: Mapping[str, StandingItem],
    random: Callable[[], float],
) -> dict[str, Verdict]:
    session, token = settlement.session, settlement.token
    close = settlement.close or held.remaining <= len(standing)
    if not standing:
        if close:
            claims.close(tx, session, token)
        return {}
    rules = retry_policy.policy(held.attempts, held.settings.backoff)
    outcomes = {
        key: retry_policy.resolve(from_return_value(outcome), standing[key].attempts, rules, random)
        for key, outcome in settlement.outcomes.items()
        if key in standing
    }
    settling = [(standing[key].position, outcome) for key, outcome in outcomes.items()]
    holder = tx.value("sessions/holder", session=session) or ""
    verdicts = settlements.settle(tx, session, token, settling, holder=holder, close=close)
    return dict(zip(outcomes, verdicts, strict=True))


def settle_at(tx: Tx, under: Settlement, settling: OutcomesByPosition, *, plain: bool = False) -> list[Verdict]:
    """Write outcomes by the positions that were claimed, and return the verdicts in order.

    `plain` says that all that is left of the claim is done, and nothing is kept of it.
    """
    session, token = under.session, under.token
    if under.prefixes:
        held = settlements.hold(tx, session, token)
        if held is not None and not covers(under.prefixes, held.name):
            raise claims.stale(session, token)
    if plain:
        return settlements.settle_done(tx, session, token, [position for position, _ in settling])
    holder = tx.value("sessions/holder", session=session) or ""
    return settlements.settle(tx, session, token, settling, holder=holder, close=under.close)
