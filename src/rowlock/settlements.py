"""Settlements: outcomes of claimed items, each written once under its claim. Verbs of a transaction."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rowlock import attempts, dependencies, failures, gates, json_codec, limits, lists, receipts, tallies
from rowlock.db import Pending, Transaction, pipelined
from rowlock.durations import milliseconds
from rowlock.errors import GatePassed, InvalidData, InvalidOutcome, ItemsGone, StaleClaim
from rowlock.model import MAX_DATA_BYTES, Settings
from rowlock.outcomes import UNCHANGED, Done, Fail, Move, Outcome, Retry, Verdict, verdict_of
from rowlock.receipts import OutcomesByPosition

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
    settings: Settings

    @property
    def lane(self) -> dict[str, int]:
        """The lane of its items, as parameters of a statement."""
        return {"list": self.list, "gate": self.gate, "priority": self.priority}

    def at(self, positions: Iterable[int]) -> dict[str, Any]:
        """Return parameters for statements on some of its items, with bounds that no plan can read beyond."""
        places = list(positions)
        return {**self.lane, "positions": _json(places), "low": min(places) - 1, "high": max(places)}

    def covers(self, position: int) -> bool:
        """Return whether the claim covers a position: anything else is another claim's, or free."""
        return self.low < position <= self.high


def settle_done(tx: Transaction, session: str, token: str, positions: Sequence[int]) -> list[Verdict]:
    """Settle all that is left of a claim as done, with nothing kept of it, and end the claim."""
    verdicts = try_settle_done(tx, session, token, positions)
    if verdicts is None:
        return settle(tx, session, token, [(position, Done()) for position in positions])
    return verdicts


@pipelined
def try_settle_done(
    tx: Transaction,
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
    text = _json(positions)
    parameters = {"positions": text, "count": len(positions), "receipt": receipts.of_text(text)}
    rows = tx.send("claims/settle", session=session, token=token, **parameters)
    return rows.map(lambda rows: _done_or_gone(rows, positions))


def _done_or_gone(rows: list[tuple[Any, ...]], positions: Sequence[int]) -> list[Verdict] | None:
    if not rows:
        return None
    if rows[0][0] is None:
        return [Verdict.DONE] * len(positions)
    gone = set(msgspec.json.decode(rows[0][0]))
    return [Verdict.GONE if position in gone else Verdict.DONE for position in positions]


def settle(
    tx: Transaction, session: str, token: str, settling: OutcomesByPosition, *, holder: str = "", close: bool = True
) -> list[Verdict]:
    """Write each outcome where its item still stands as it was claimed, and return the verdicts in order.

    StaleClaim, and nothing written, if the claim has ended. A repeated settlement is answered as before. A retry fails
    the item if it was the last that the claim allows. With `close` the claim ends, and what of it was not settled is
    free.
    """
    return _settle(tx, session, token, settling, holder=holder, close=close, again=True)


def settle_beside(
    tx: Transaction,
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
    verdicts = _settle(tx, session, token, settling, holder=holder, close=close, again=False)
    if not partial:
        _refuse_gone([keys[position] for position, _ in settling], verdicts, token)
    return verdicts


def settle_done_beside(tx: Transaction, session: str, token: str, *, keys: Mapping[int, str]) -> list[Verdict]:
    """Settle all that is left of a claim as done, in one transaction with the caller's rows; ItemsGone as above."""
    verdicts = try_settle_done(tx, session, token, list(keys))
    if verdicts is None:
        return settle_beside(tx, session, token, [(position, Done()) for position in keys], keys=keys)
    _refuse_gone(list(keys.values()), verdicts, token)
    return verdicts


def _refuse_gone(keys: Sequence[str], verdicts: Sequence[Verdict], token: str) -> None:
    gone = [key for key, verdict in zip(keys, verdicts, strict=True) if verdict is Verdict.GONE]
    if gone:
        raise ItemsGone.of(gone, token=token)


def _settle(
    tx: Transaction, session: str, token: str, settling: OutcomesByPosition, *, holder: str, close: bool, again: bool
) -> list[Verdict]:
    _refuse_twice(settling)
    held = hold(tx, session, token)
    if held is None:
        before = receipts.answer(tx, token, settling) if again else None
        if before is None:
            raise StaleClaim.of(token)
        return before
    before = receipts.answer(tx, token, settling) if again and _keeps_places(held, settling) else None
    if before is None:
        groupable = _placed(tx, held, settling)
        _refuse_passed_gates(held, groupable)
        landed = _write(tx, held, groupable, holder)
        gone = [position for position, _ in settling if position not in landed]
        before = receipts.answer(tx, token, settling) if gone and again else None
    if before is not None:
        if close:
            tx.run("claims/close", session=session, token=token)
        return before
    _record(tx, held, landed, token=token, receipt=receipts.digest(settling), answer=receipts.note(settling, landed))
    _end_or_reduce(tx, held, session, token, settled=len(settling), close=close)
    if landed and held.awaited:
        gates.advance_if_cleared(tx, held.list, held.name)
    return [verdict_of(landed[position]) if position in landed else Verdict.GONE for position, _ in settling]


def _end_or_reduce(tx: Transaction, held: HeldClaim, session: str, token: str, *, settled: int, close: bool) -> None:
    if close and held.remaining > settled:
        tx.run("lists/wake", list=held.list)
    elif held.settings.limits is not None:
        limits.wake(tx, held.name)
    if close:
        tx.run("claims/close", session=session, token=token)
    else:
        tx.run("claims/reduce", session=session, token=token, settled=settled)


def hold(tx: Transaction, session: str, token: str) -> HeldClaim | None:
    """Lock a claim until this transaction ends, so that its session cannot expire; None if it has ended."""
    row = tx.row("claims/hold", session=session, token=token)
    if row is None:
        return None
    *plain, settings = row
    return HeldClaim(*plain, msgspec.json.decode(settings, type=Settings))  # type: ignore[call-arg]


def _keeps_places(held: HeldClaim, settling: OutcomesByPosition) -> bool:
    """Return whether an item would stay where it is: then only the receipt says that it has been settled."""
    return held.settings.exclusive and any(isinstance(each, Retry) and not _delay(each.after) for _, each in settling)


def _refuse_twice(settling: OutcomesByPosition) -> None:
    if len({position for position, _ in settling}) < len(settling):
        raise InvalidOutcome("an item has two outcomes in one settlement", "give each item one")


def _placed(tx: Transaction, held: HeldClaim, settling: OutcomesByPosition) -> OutcomesByPosition:
    """Return the outcomes with gates as numbers, and store which items wait for a list."""
    moves = {position: outcome for position, outcome in settling if isinstance(outcome, Move)}
    if not moves:
        return settling
    waiting = _wait(tx, held, moves)
    groupable = {position: _place(held, outcome, waits=position in waiting) for position, outcome in moves.items()}
    return [(position, groupable.get(position, outcome)) for position, outcome in settling]


def _wait(tx: Transaction, held: HeldClaim, moves: Mapping[int, Move]) -> set[int]:
    """Store what waits for which list; return the positions of items whose list exists and is not complete."""
    wanted = {position: outcome.until for position, outcome in moves.items() if outcome.until is not None}
    if held.name in wanted.values():
        raise InvalidOutcome(f"an item of {held.name!r} cannot wait for its own list", "wait for another list")
    if not wanted:
        return set()
    # Locked before any item, in one order: the completion of a list locks the items that wait for it likewise.
    rows = {name: lists.lock_if_exists(tx, name) for name in sorted(set(wanted.values()))}
    keys = {row[0]: row[1] for row in tx.rows("items/in_claim", **held.at(wanted))}
    waiting: set[int] = set()
    for name, row in rows.items():
        if row is not None and row.state != "complete":
            those = [position for position in keys if wanted[position] == name]
            dependencies.wait(tx, held.list, [keys[position] for position in those], awaited=row.id)
            waiting.update(those)
    return waiting


def _place(held: HeldClaim, outcome: Move, *, waits: bool) -> Move:
    gate = None if outcome.gate is None else held.settings.gate_number(outcome.gate)
    return Move(gate, outcome.data, dependencies.WAITING_DELAY if waits else outcome.after)


def _refuse_passed_gates(held: HeldClaim, settling: OutcomesByPosition) -> None:
    for _, outcome in settling:
        if isinstance(outcome, Move) and isinstance(outcome.gate, int) and outcome.gate < held.list_gate:
            what = f"gate {outcome.gate} of the list {held.name!r} is passed: it is at gate {held.list_gate}"
            raise GatePassed(what, "move to this gate or a later one")


def _write(tx: Transaction, held: HeldClaim, settling: OutcomesByPosition, holder: str) -> dict[int, Outcome]:
    """Write the outcomes of items that the claim covers, and return them as written, by position."""
    ours = [each for each in settling if held.covers(each[0])]
    done = {position: outcome for position, outcome in ours if isinstance(outcome, Done)}
    others = {position: outcome for position, outcome in ours if not isinstance(outcome, Done)}
    landed: dict[int, Outcome] = {}
    if done:
        rows = tx.rows("items/settle_done", **held.at(done))
        _keep_results(tx, held, rows, done)
        landed.update((row[0], done[row[0]]) for row in rows)
    if others:
        found = tx.rows("items/in_claim", **held.at(others))
        # Counted again under the lock: somebody may have recorded a failure by hand since the item was claimed.
        written = {
            position: attempts.limited(others[position], failed, allowed=held.attempts) for position, _, failed in found
        }
        _write_others(tx, held, written)
        _record_errors(tx, held, found, written, holder)
        landed.update(written)
    return landed


def _keep_results(tx: Transaction, held: HeldClaim, rows: Sequence[Any], done: dict[int, Done]) -> None:
    if held.settings.keep_results and rows:
        kept = [
            {"key": key, "attempts": failed, "data": _data(done[position].result, key)}
            for position, key, failed in rows
        ]
        tx.run("results/keep_many", list=held.list, keep=held.settings.keep, rows=_json(kept))


def _write_others(tx: Transaction, held: HeldClaim, found: Mapping[int, Outcome]) -> None:
    retries = [
        {
            "position": position,
            "delay": _delay(outcome.after),
            "counted": int(outcome.counted),
            "stays": held.settings.exclusive,
        }
        for position, outcome in found.items()
        if isinstance(outcome, Retry)
    ]
    moves = [_moved(held, position, outcome) for position, outcome in found.items() if isinstance(outcome, Move)]
    fails = [position for position, outcome in found.items() if isinstance(outcome, Fail)]
    if retries:
        tx.run("items/settle_retry", rows=_json(retries), **held.at(row["position"] for row in retries))
    for start in range(0, len(moves), MAX_MOVES_PER_STATEMENT):
        some = moves[start : start + MAX_MOVES_PER_STATEMENT]
        tx.run("items/settle_move", rows=_json(some), **held.at(row["position"] for row in some))
    if fails:
        tx.run("items/settle_fail", **held.at(fails))
    if retries or moves:
        tx.run("lists/wake", list=held.list)


def _moved(held: HeldClaim, position: int, outcome: Move) -> dict[str, Any]:
    keeps = outcome.data is UNCHANGED
    return {
        "position": position,
        "to_gate": held.gate if outcome.gate is None else outcome.gate,
        "keeps_data": keeps,
        "data": None if keeps else _data(outcome.data, f"position {position}"),
        "delay": _delay(outcome.after),
    }


def _data(value: Any, whose: str) -> str | None:
    if value is None:
        return None
    try:
        text = json_codec.encode(value, f"the data for {whose!r}")
    except (TypeError, ValueError):
        raise InvalidData(f"the data for {whose!r} cannot be written as JSON", "give plain values") from None
    if len(text.encode()) > MAX_DATA_BYTES:
        raise InvalidData(f"the data for {whose!r} is larger than {MAX_DATA_BYTES} bytes", "keep it elsewhere")
    return text


def _delay(after: Any) -> int:
    if after is dependencies.WAITING_DELAY:
        return dependencies.WAITING_DELAY_MILLISECONDS
    return 0 if after is None else milliseconds(after)


def _record_errors(
    tx: Transaction, held: HeldClaim, found: Sequence[Any], written: Mapping[int, Outcome], holder: str
) -> None:
    said = [
        {
            "key": key,
            "attempt": failed + 1,
            **_said(outcome),
        }
        for position, key, failed in found
        if isinstance(outcome := written[position], Retry | Fail) and (outcome.error or isinstance(outcome, Fail))
    ]
    if said:
        tx.run("errors/record_many", list=held.list, holder=holder, keep=held.settings.keep, rows=_json(said))


def _said(outcome: Retry | Fail) -> dict[str, str]:
    text = failures.truncate_message(outcome.error or outcome.kind)
    return {"kind": failures.truncate_message(outcome.kind), "message": text, "shape": failures.shape(text)}


def _record(
    tx: Transaction, held: HeldClaim, landed: Mapping[int, Outcome], *, token: str, receipt: str, answer: str | None
) -> None:
    verdicts = Counter(map(verdict_of, landed.values()))
    waiting = sum(1 for outcome in landed.values() if isinstance(outcome, Retry | Move) and _delay(outcome.after))
    moved_away = [
        outcome for outcome in landed.values() if isinstance(outcome, Move) and outcome.gate not in (None, held.gate)
    ]
    moved_and_waiting = sum(1 for outcome in moved_away if _delay(outcome.after))
    tx.run(
        "tallies/record_settled",
        list=held.list,
        gate=held.gate,
        token=token,
        receipt=receipt,
        gone=answer,
        done=verdicts[Verdict.DONE],
        retried=verdicts[Verdict.RETRIED],
        moved=verdicts[Verdict.MOVED],
        failed=verdicts[Verdict.FAILED],
        items_change=-verdicts[Verdict.DONE] - len(moved_away),
        delayed_change=waiting - moved_and_waiting,
        failed_change=verdicts[Verdict.FAILED],
        seconds=0.0,
    )
    for gate, count in Counter(outcome.gate for outcome in moved_away).items():
        delayed = sum(1 for outcome in moved_away if outcome.gate == gate and _delay(outcome.after))
        tallies.record(tx, held.list, int(gate or 0), items_change=count, delayed_change=delayed)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
