"""Known mistakes: each is one replacement of text in a copy of the source, and must be caught."""
# ruff: noqa: E501 - the texts are those of the source

import msgspec

SIMULATION = "the simulation"


class Bug(msgspec.Struct, frozen=True):
    """A mistake that somebody could make, and what catches it: the simulation, or a test by its name."""

    name: str
    file: str
    """Below src/rowlock."""
    old: str
    new: str
    caught_by: str = SIMULATION
    seeds: int = 3_000
    """How many seeds at most; far fewer should do."""
    first: int = 0
    """The first of these seeds, for a mistake that few seeds meet."""


BUGS = (
    Bug(
        "a settlement does not look at its token",
        "sql/claims/lock.sql",
        "where c.token = :token and c.session = :session {lock_claim}",
        "where c.list is not null {lock_claim}",
    ),
    Bug(
        "the outcome is noted as written before the commit",
        "engine/claim.py",
        "        verdicts = self._engine.run(settlements.settle, *who, settling, holder=self._session.holder, close=close)\n",
        "        self._committed |= {each: (said, Verdict.DONE) for each, said in outcomes.items()}\n"
        "        verdicts = self._engine.run(settlements.settle, *who, settling, holder=self._session.holder, close=close)\n",
    ),
    Bug(
        "a session is expired by an old look",
        "sql/sessions/lock_silent.sql",
        "where id = :session and expires_at = :expires_at {skip}",
        "where id = :session and (expires_at = :expires_at or true) {skip}",
        caught_by="tests/verbs/test_heartbeats.py::test_an_old_look_expires_no_session_that_has_beaten_since[sqlite]",
    ),
    Bug(
        "a session is expired by the wall clock alone",
        "heartbeats.py",
        "if session.expiry is None or self._trusts_clock:",
        "if True:",
    ),
    Bug(
        "a dead session is told that it lives",
        "sessions.py",
        'return tx.run("sessions/beat", session=session, expiry=expiry) == 1',
        'return tx.run("sessions/beat", session=session, expiry=expiry) >= 0',
    ),
    Bug(
        "an expired session is not removed",
        "sessions.py",
        "    close(tx, dead.id)\n    return True",
        "    return True",
    ),
    Bug(
        "claims outlive their session",
        "db/sqlite.py",
        '    "pragma foreign_keys = on",\n',
        "",
    ),
    Bug(
        "a due time is the client's",
        "sql/items/settle_retry.sqlite.sql",
        "due = {now} + nullif(line.delay, 0)",
        "due = 1000 * cast(strftime('%s', 'now') as integer) + nullif(line.delay, 0)",
    ),
    Bug(
        "a gate opens while items are delayed or failed",
        "gates.py",
        "found = [gate for gate in (self.first_ready, self.first_unready) if gate is not None]",
        "found = [gate for gate in (self.first_ready,) if gate is not None]",
    ),
    Bug(
        "a gate opens while items are claimed",
        "sql/parts/first_ready_gate.sql",
        "where i.list = l.id and i.gate >= l.gate and i.due is null and i.failed_at is null\n",
        "where i.list = l.id and i.gate >= l.gate and i.due is null and i.failed_at is null and not exists (\n"
        "    select 1 from rowlock_claims c where c.list = i.list and c.gate = i.gate and c.low < i.position and c.high >= i.position)\n",
    ),
    Bug(
        "an add before the open gate is taken",
        "items.py",
        "    if lowest >= gate:\n",
        "    if lowest >= 0:\n",
    ),
    Bug(
        "a move before the open gate is taken",
        "settlements.py",
        "if gate is not None and gate < held.list_gate:",
        "if gate is not None and gate < 0:",
        caught_by="tests/verbs/test_settlements.py::test_a_move_to_a_passed_gate_is_refused_and_nothing_is_written[sqlite]",
    ),
    Bug(
        "a counter advances by one, whatever was taken",
        "sql/counters/take.sqlite.sql",
        "set value = rowlock_counters.value + excluded.value",
        "set value = rowlock_counters.value + 1",
    ),
    Bug(
        "a counter begins anew when it is asked again",
        "sql/counters/take.sqlite.sql",
        "set value = rowlock_counters.value + excluded.value",
        "set value = excluded.value",
    ),
    Bug(
        "synchronous is left off after a claim",
        "db/sqlite.py",
        "        if self._flushes is not flushed:\n",
        "        if self._flushes and not flushed:\n",
    ),
    Bug(
        "a settlement is not flushed",
        "settlements.py",
        "def settle(\n    tx: Tx, session: str, token: str, settling: OutcomesByPosition,",
        "from rowlock.db import unflushed\n\n\n@unflushed\ndef settle(\n"
        "    tx: Tx, session: str, token: str, settling: OutcomesByPosition,",
    ),
    Bug(
        "an interrupt leaves the connection in use",
        "db/pool.py",
        "        except BaseException:\n            self._put_back(lease, intact=False)\n            raise\n        return answer",
        "        except Exception:\n            self._put_back(lease, intact=False)\n            raise\n        return answer",
    ),
    Bug(
        "a commit with an unknown outcome is run again",
        "db/sqlite.py",
        'raise OutcomeUnknown(what, "look before you ask again") from None',
        'raise RetryTransaction(OutcomeUnknown(what, "look before you ask again")) from None',
    ),
    Bug(
        "a repeated settlement is refused",
        "receipts.py",
        "    if row is None:\n        return None\n    noted",
        "    if row is None or row is not None:\n        return None\n    noted",
    ),
    Bug(
        "a closed session does not wake its lists",
        "sessions.py",
        '    tx.run("lists/request_wakes_of_session", session=session)\n    return tx.run("sessions/close"',
        '    return tx.run("sessions/close"',
    ),
    Bug(
        "what moves on is not taken off its gate's tally",
        "settlements.py",
        "items_change=-verdicts[Verdict.DONE] - arrived.total(),",
        "items_change=-verdicts[Verdict.DONE],",
    ),
    Bug(
        "a failure is not tallied",
        "settlements.py",
        "failed_change=verdicts[Verdict.FAILED],",
        "failed_change=0,",
    ),
    Bug(
        "a promoted item still counts as delayed",
        "claims.py",
        "delayed_change=-sum(1 for _, at in due if at == gate))",
        "delayed_change=0)",
    ),
    Bug(
        "folding loses a tally",
        "tallies.py",
        "_fold_into_sums(tx, old)",
        "_fold_into_sums(tx, old[1:])",
    ),
    Bug(
        "an abandoned item is tallied as done",
        "items.py",
        'event="abandoned"',
        'event="done"',
    ),
    Bug(
        "a claim after the frontier does not look at other claims",
        "sql/claims/take.sqlite.sql",
        "and c.high > lane.floor",
        "and c.high > lane.floor and false",
    ),
    Bug(
        "a claim reaches into the next one",
        "sql/parts/claim_from_start.sqlite.sql",
        "min(coalesce(s.until, 9223372036854775807), coalesce(",
        "min(9223372036854775807, coalesce(",
        first=9_600,
    ),
    Bug(
        "a settlement takes all between its first and its last item",
        "sql/items/settle_done.sql",
        "where {parts/at_positions}\n",
        "where i.list = :list and i.position > :low and i.position <= :high and :gate = i.gate and :positions <> ''\n",
    ),
    Bug(
        "a retry does not count the attempt",
        "sql/items/settle_retry.sqlite.sql",
        "set attempts = attempts + line.counted",
        "set attempts = attempts",
    ),
    Bug(
        "the caller's transaction is committed although the block raised",
        "db/database.py",
        "            except BaseException:\n                connection.rollback()\n                raise\n",
        "            except BaseException:\n                connection.commit()\n                raise\n",
        seeds=6_000,
    ),
    Bug(
        "a limit does not count what is claimed",
        "limits.py",
        "UNLIMITED if limits.concurrency is None else limits.concurrency - claimed",
        "UNLIMITED if limits.concurrency is None else limits.concurrency",
    ),
    Bug(
        "a new priority is not noted with the list",
        "items.py",
        "        target = lists.add_lanes(tx, target, batch.lanes)\n",
        "",
    ),
    Bug(
        "a claim that is closed with items left wakes nobody",
        "settlements.py",
        "    if close and held.remaining > settled:\n",
        "    if False:\n",
    ),
    Bug(
        "a settlement makes no room in a list at its limit",
        "settlements.py",
        "        limits.wake(tx, held.name)\n",
        "        pass\n",
    ),
    Bug(
        "a delayed item is handed out at once",
        "sql/items/lock_due.sql",
        "due <= {now}",
        "due is not null",
    ),
    Bug(
        "claims of another list hide free items",
        "sql/claims/take_gap.sqlite.sql",
        "select c.low from rowlock_claims c where c.list = g.list and",
        "select c.low from rowlock_claims c where",
    ),
)
