"""Settlements: outcomes of claimed items, each written once under its claim. Functions that take a transaction."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from rowlock import done_keys, failures, gates, json_codec, limits, lists, receipts, results, retry_policy, tallies
from rowlock.db import Pending, Tx, pipelined
from rowlock.durations import milliseconds
from rowlock.errors import GatePassed, InvalidData, InvalidOutcome, ItemsGone, StaleClaim
from rowlock.json_codec import encode_json
from rowlock.lists import WAITING_DELAY, WAITING_DELAY_MILLISECONDS
from rowlock.model import MAX_DATA_BYTES, Settings
from rowlock.outcomes import UNCHANGED, Done, Fail, Move, Outcome, Retry, Verdict, verdict_of
from rowlock.receipts import OutcomesByPosition

Kind = TypeVar("Kind", Done, Retry, Move, Fail)

MAX_MOVES_PER_STATEMENT = 500
"""With the largest data each, so many stay below the 256 MB that a jsonb may have."""


class HeldClaim(msgspec.Struct, frozen=True):
    """A claim that is locked and has not ended, with its list."""

    list: int
    gate: int
    priority: int
    low: int
    high: int
    remaining: int
    attempts: int | None
    name: str
    list_gate: int
    awaited: bool
    """Whether something waits until the list's gate is cleared."""
    settings: Settings

    @property
    def lane(self) -> dict[str, int]:
        """The lane of its items, as parameters of a statement."""
        return {"list": self.list, "gate": self.gate, "priority": self.priority}

    def at(self, positions: Iterable[int]) -> dict[str, Any]:
        """Return parameters for statements on some of its items, with bounds that no plan can read beyond."""
        places = list(positions)
        return {**self.lane, "positions": encode_json(places), "low": min(places) - 1, "high": max(places)}

    def gate_after(self, outcome: Outcome) -> int:
        """Return at which gate an item stands after its outcome."""
        gate = outcome.gate if isinstance(outcome, Move) else None
        return self.gate if gate is None else self.settings.gate_number(gate)


class StandingItem(msgspec.Struct, frozen=True):
    """An item that stands as it was claimed."""

    position: int
    key: str
    attempts: int


def hold(tx: Tx, session: str, token: str) -> HeldClaim | None:
    """Lock a claim until this transaction ends, so that its session cannot expire; None if it has ended."""
    return tx.struct(HeldClaim, "claims/lock", session=session, token=token)


def settle(
    tx: Tx, session: str, token: str, settling: OutcomesByPosition, *, holder: str = "", close: bool = True
) -> list[Verdict]:
    """Write each outcome where its item still stands as it was claimed, and return the verdicts in order.

    StaleClaim, and nothing written, if the claim has ended. A repeated settlement is answered as before. A retry fails
    the item if it was the last that the claim allows. With `close` the claim ends, and what of it was not settled is
    free.
    """
    return _settle(tx, session, token, settling, holder=holder, close=close, repeatable=True)


def settle_beside(
    tx: Tx,
    session: str,
    token: str,
    settling: OutcomesByPosition,
    *,
    keys: Mapping[int, str],
    holder: str = "",
    close: bool = True,
    partial: bool = False,
) -> list[Verdict]:
    """Settle in one transaction with the caller's rows, which must not commit if another transaction has settled.

    So a repeated settlement is not answered as before: StaleClaim if the claim has ended. ItemsGone, with the keys, if
    items were taken off the list meanwhile, unless `partial` asks for verdicts.
    """
    verdicts = _settle(tx, session, token, settling, holder=holder, close=close, repeatable=False)
    if not partial:
        _refuse_gone([keys[position] for position, _ in settling], verdicts, token)
    return verdicts


def settle_done(tx: Tx, session: str, token: str, positions: Sequence[int]) -> list[Verdict]:
    """Settle all that is left of a claim as done, with nothing kept of it, and end the claim."""
    verdicts = try_settle_done(tx, session, token, positions)
    if verdicts is None:
        return settle(tx, session, token, [(position, Done()) for position in positions])
    return verdicts


def settle_done_beside(tx: Tx, session: str, token: str, *, keys: Mapping[int, str]) -> list[Verdict]:
    """Settle all that is left of a claim as done, in one transaction with the caller's rows; ItemsGone as above."""
    verdicts = try_settle_done(tx, session, token, list(keys))
    if verdicts is None:
        return settle_beside(tx, session, token, [(position, Done()) for position in keys], keys=keys)
    _refuse_gone(list(keys.values()), verdicts, token)
    return verdicts


@pipelined
def try_settle_done(
    tx: Tx,
    session: str,
    token: str,
    positions: Sequence[int],
    *,
    limited: str | None = None,
    use_planner_hints: bool = False,
) -> Pending[list[Verdict] | None]:
    """Settle as done by one statement; None, and nothing written, if the claim has ended or its items have changed.

    `limited` names the list if it has limits: what is done makes room, so it is woken. `use_planner_hints` is for
    pipelines, where one more statement costs no round trip.
    """
    if limited is not None:
        limits.wake(tx, limited)
    if use_planner_hints:
        tx.send_to_server("claims/planner_hints")
    text = encode_json(positions)
    parameters = {"positions": text, "count": len(positions), "receipt": receipts.of_text(text)}
    rows = tx.send("claims/settle_all_done", session=session, token=token, **parameters)
    return rows.map(lambda rows: _done_or_gone(rows, positions))


def _done_or_gone(rows: list[tuple[Any, ...]], positions: Sequence[int]) -> list[Verdict] | None:
    if not rows:
        return None
    if rows[0][0] is None:
        return [Verdict.DONE] * len(positions)
    gone = set(msgspec.json.decode(rows[0][0]))
    return [Verdict.GONE if position in gone else Verdict.DONE for position in positions]


def _refuse_gone(keys: Sequence[str], verdicts: Sequence[Verdict], token: str) -> None:
    gone = [key for key, verdict in zip(keys, verdicts, strict=True) if verdict is Verdict.GONE]
    if gone:
        raise ItemsGone.of(gone, token=token)


def _settle(
    tx: Tx,
    session: str,
    token: str,
    settling: OutcomesByPosition,
    *,
    holder: str,
    close: bool,
    repeatable: bool,
) -> list[Verdict]:
    if len({position for position, _ in settling}) < len(settling):
        raise InvalidOutcome("an item has two outcomes in one settlement", "give each item one")
    held = hold(tx, session, token)
    if held is None:
        before = receipts.answer(tx, token, settling) if repeatable else None
        if before is None:
            raise StaleClaim.of(token)
        return before
    before = receipts.answer(tx, token, settling) if repeatable and _leaves_items(held, settling) else None
    if before is None:
        written = _write(tx, held, _resolve_moves(tx, held, settling), holder)
        # An item that does not stand there may have been settled by this call before.
        before = receipts.answer(tx, token, settling) if repeatable and len(written) < len(settling) else None
    if before is not None:
        if close:
            _end_or_reduce(tx, held, session, token, settled=0, close=True)
        return before
    _record_tallies(tx, held, token, settling, written)
    _end_or_reduce(tx, held, session, token, settled=len(settling), close=close)
    if written and held.awaited:
        gates.advance_if_cleared(tx, held.list, held.name)
    return [verdict_of(written[position]) if position in written else Verdict.GONE for position, _ in settling]


def _leaves_items(held: HeldClaim, settling: OutcomesByPosition) -> bool:
    """Return whether an item would stay where it is: then only the receipt says that it has been settled."""
    return held.settings.exclusive and any(isinstance(each, Retry) and not _delay(each) for _, each in settling)


def _resolve_moves(tx: Tx, held: HeldClaim, settling: OutcomesByPosition) -> OutcomesByPosition:
    """Return the outcomes with gates as numbers, and store which items wait for a list."""
    moves = _of_kind(Move, dict(settling))
    if not moves:
        return settling
    numbered = {position: None if move.gate is None else held.gate_after(move) for position, move in moves.items()}
    for gate in numbered.values():
        if gate is not None and gate < held.list_gate:
            what = f"gate {gate} of the list {held.name!r} is passed: it is at gate {held.list_gate}"
            raise GatePassed(what, "move to this gate or a later one")
    waiting = _store_waiting(tx, held, {each: move.until for each, move in moves.items() if move.until is not None})
    resolved = {
        position: Move(gate, moves[position].data, WAITING_DELAY if position in waiting else moves[position].after)
        for position, gate in numbered.items()
    }
    return [(position, resolved.get(position, outcome)) for position, outcome in settling]


def _store_waiting(tx: Tx, held: HeldClaim, awaited: Mapping[int, str]) -> set[int]:
    """Store which items wait for which list; return the positions of those whose list exists and is not complete."""
    if held.name in awaited.values():
        raise InvalidOutcome(f"an item of {held.name!r} cannot wait for its own list", "wait for another list")
    if not awaited:
        return set()
    # Locked before any item, in one order: the completion of a list locks the items that wait for it likewise.
    rows = {name: lists.lock_if_exists(tx, name) for name in sorted(set(awaited.values()))}
    items = tx.structs(StandingItem, "items/lock_by_positions", **held.at(awaited))
    waiting: set[int] = set()
    for name, row in rows.items():
        if row is not None and row.state != "complete":
            those = {item.position: item.key for item in items if awaited[item.position] == name}
            lists.record_waiting(tx, held.list, list(those.values()), awaited=row.id)
            waiting.update(those)
    return waiting


def _write(tx: Tx, held: HeldClaim, settling: OutcomesByPosition, holder: str) -> dict[int, Outcome]:
    """Write the outcomes of items that stand as they were claimed, and return them as written, by position."""
    # A position outside of the interval is another claim's, or free.
    covered = {position: outcome for position, outcome in settling if held.low < position <= held.high}
    done = _of_kind(Done, covered)
    others = {position: outcome for position, outcome in covered.items() if position not in done}
    return {**_write_done(tx, held, done), **_write_others(tx, held, others, holder)}


def _write_done(tx: Tx, held: HeldClaim, done: Mapping[int, Done]) -> dict[int, Outcome]:
    if not done:
        return {}
    items = tx.structs(StandingItem, "items/settle_done", **held.at(done))
    if held.settings.keep_results and items:
        rows = [
            {"key": item.key, "attempts": item.attempts, "data": _data(done[item.position].result, item.key)}
            for item in items
        ]
        results.add(tx, held.list, rows, keep=held.settings.keep)
    if held.settings.once and items:
        done_keys.remember(tx, held.list, [item.key for item in items])
    return {item.position: done[item.position] for item in items}


def _write_others(tx: Tx, held: HeldClaim, others: Mapping[int, Outcome], holder: str) -> dict[int, Outcome]:
    if not others:
        return {}
    items = tx.structs(StandingItem, "items/lock_by_positions", **held.at(others))
    # Counted again under the lock: somebody may have recorded a failure by hand since the item was claimed.
    written = {
        item.position: retry_policy.limited(others[item.position], item.attempts, allowed=held.attempts)
        for item in items
    }
    retries, moves, fails = _of_kind(Retry, written), _of_kind(Move, written), _of_kind(Fail, written)
    if retries:
        rows = [
            {"position": each, "delay": _delay(retry), "counted": int(retry.counted), "stays": held.settings.exclusive}
            for each, retry in retries.items()
        ]
        tx.run("items/settle_retry", rows=encode_json(rows), **held.at(retries))
    if moves:
        _write_moves(tx, held, moves)
    if fails:
        tx.run("items/settle_fail", **held.at(fails))
    if retries or moves:
        tx.run("lists/request_wake", list=held.list)
    _record_errors(tx, held, items, written, holder)
    return written


def _write_moves(tx: Tx, held: HeldClaim, moves: Mapping[int, Move]) -> None:
    rows = [
        {
            "position": position,
            "to_gate": held.gate_after(move),
            "keeps_data": move.data is UNCHANGED,
            "data": None if move.data is UNCHANGED else _data(move.data, f"position {position}"),
            "delay": _delay(move),
        }
        for position, move in moves.items()
    ]
    for start in range(0, len(rows), MAX_MOVES_PER_STATEMENT):
        some = slice(start, start + MAX_MOVES_PER_STATEMENT)
        tx.run("items/settle_move", rows=encode_json(rows[some]), **held.at(list(moves)[some]))


def _record_errors(
    tx: Tx, held: HeldClaim, items: Sequence[StandingItem], written: Mapping[int, Outcome], holder: str
) -> None:
    failed = [
        failures.FailedAttempt.of(item.key, outcome, attempt=item.attempts + 1)
        for item in items
        if isinstance(outcome := written[item.position], Fail) or (isinstance(outcome, Retry) and outcome.error)
    ]
    if failed:
        failures.record(tx, held.list, failed, holder=holder, keep=held.settings.keep)


def _record_tallies(
    tx: Tx, held: HeldClaim, token: str, settling: OutcomesByPosition, written: Mapping[int, Outcome]
) -> None:
    """Record what the claim's gate has lost or kept, with the receipt, and what other gates have got."""
    verdicts = Counter(map(verdict_of, written.values()))
    delayed = Counter(held.gate_after(outcome) for outcome in written.values() if _delay(outcome))
    arrived = Counter(map(held.gate_after, _of_kind(Move, written).values()))
    del arrived[held.gate]  # those have not left
    tx.run(
        "tallies/record_settled",
        list=held.list,
        gate=held.gate,
        token=token,
        receipt=receipts.digest(settling),
        gone=receipts.note(settling, written),
        done=verdicts[Verdict.DONE],
        retried=verdicts[Verdict.RETRIED],
        moved=verdicts[Verdict.MOVED],
        failed=verdicts[Verdict.FAILED],
        items_change=-verdicts[Verdict.DONE] - arrived.total(),
        delayed_change=delayed[held.gate],
        failed_change=verdicts[Verdict.FAILED],
    )
    for gate, count in arrived.items():
        tallies.record(tx, held.list, gate, items_change=count, delayed_change=delayed[gate])


def _end_or_reduce(tx: Tx, held: HeldClaim, session: str, token: str, *, settled: int, close: bool) -> None:
    if close and held.remaining > settled:
        tx.run("lists/request_wake", list=held.list)
    elif held.settings.limits is not None:
        limits.wake(tx, held.name)
    if close:
        tx.run("claims/close", session=session, token=token)
    else:
        tx.run("claims/decrement_remaining", session=session, token=token, settled=settled)


def _of_kind(kind: type[Kind], outcomes: Mapping[int, Outcome]) -> dict[int, Kind]:
    return {position: outcome for position, outcome in outcomes.items() if isinstance(outcome, kind)}


def _delay(outcome: Outcome) -> int:
    """Return how many milliseconds an item waits after its outcome."""
    after = outcome.after if isinstance(outcome, Retry | Move) else None
    if after is WAITING_DELAY:
        return WAITING_DELAY_MILLISECONDS
    return 0 if after is None else milliseconds(after)


def _data(value: Any, whose: str) -> str | None:
    if value is None:
        return None
    try:
        text = json_codec.encode(value, f"the data for {whose!r}")
        if json_codec.has_times(value):
            raise json_codec.times_refused(f"the data for {whose!r}")
    except (TypeError, ValueError):
        raise InvalidData(f"the data for {whose!r} cannot be written as JSON", "give plain values") from None
    if len(text.encode()) > MAX_DATA_BYTES:
        raise InvalidData(f"the data for {whose!r} is larger than {MAX_DATA_BYTES} bytes", "keep it elsewhere")
    return text
