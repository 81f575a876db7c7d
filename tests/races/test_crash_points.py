"""Crash points: each verb that writes fails at each of its steps, in each way, and can be called again afterwards."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.conftest import Clock
from tests.races.crash_points import ENDS, FAULTS, CrashPoints, Fault, Verb, fill, repeatable_environment, verbs

from rowlock import Engine
from rowlock.api.operations import BY_VERB
from rowlock.errors import RowlockError

VERBS = list(verbs())
HOT = ("items.add", "items.add one", "items.done one", "claims.take", "settlements.settle done", "counters.take")
"""The verbs that are swept on PostgreSQL too."""
TABLES = "select name from sqlite_master where type = 'table' and name like 'rowlock%' order by name"
NOT_COMPARED = ("rowlock_marks", "rowlock_wakes")
"""Hints where to look next, which may be there too often."""
TOKEN = re.compile(r"0{24}[0-9a-f]{8}")


class Trials:
    """A stored state, and engines that start from it."""

    def __init__(self, url: str, template: Path) -> None:
        self.url = url
        self.points = CrashPoints()
        self._file = sqlite3.connect(url, isolation_level=None, timeout=0)
        self._template = sqlite3.connect(template)
        self._engine: Engine | None = None
        self.names: set[str] = set()

    def start(self) -> Engine:
        """Return a new engine on the stored state, with one connection: one that is lost is missed at once."""
        self.end()
        self._template.backup(self._file)
        self._engine = opened(self.url, self.points, self.names)
        return self._engine

    def end(self) -> None:
        self.points.disarm()
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def close(self) -> None:
        self.end()
        self._file.close()
        self._template.close()

    def stored(self) -> dict[str, list[Any]]:
        """All rows of all tables; a second try chooses another name for its claim, so names are left out."""
        tables = [name for (name,) in self._file.execute(TABLES) if name not in NOT_COMPARED]
        rows = {name: map(repr, self._file.execute(f"select * from {name}")) for name in tables}
        return {name: sorted(TOKEN.sub("token", row) for row in found) for name, found in rows.items()}

    def check_free(self) -> None:
        """Fail if a lock was left."""
        self._file.execute("begin immediate")
        self._file.execute("rollback")


def opened(url: str, points: CrashPoints, names: set[str]) -> Engine:
    options = {"connections": 1, "patience": 1, "environment": repeatable_environment(), "clock": Clock()}
    return Engine(url, wrap=points.wrap, history=lambda event: names.add(event["operation"]), **options)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crash") / "template.db"
    with Engine(path, environment=repeatable_environment(), clock=Clock()) as engine:
        fill(engine)
    return path


@pytest.fixture
def trials(sqlite_url: str, template: Path) -> Iterator[Trials]:
    made = Trials(sqlite_url, template)
    yield made
    made.close()


def failing(call: Any) -> BaseException | None:
    try:
        call()
    except (RowlockError, KeyboardInterrupt) as error:
        return error
    return None


def is_possible(fault: Fault, step: str, *, is_here: bool) -> bool:
    """Whether this can go wrong there: signals come to the main thread, and only an end can have an unknown outcome."""
    if "interrupt" in fault.name and not is_here:
        return False
    if fault.name == "lost answer":
        return step in ENDS
    # After a commit there are only answers that get lost; before one, the loss of a connection is an unknown outcome.
    if fault.name == "exception after":
        return step not in ENDS
    return not (fault.name == "lost connection" and step in ENDS)


def test_every_verb_of_the_api_that_writes_is_swept() -> None:
    writing = {operation.name for operation in BY_VERB.values() if not operation.reads}
    swept = {verb.name.partition(" ")[0] for verb in VERBS}
    assert writing - swept == set()


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_a_verb_that_fails_at_any_step_leaves_the_state_before_or_after_and_can_be_called_again(
    trials: Trials, verb: Verb
) -> None:
    sweep(trials, verb)


def sweep(trials: "Trials | ServerTrials", verb: Verb) -> None:
    """Count the steps of the verb, then let it fail at each of them in each possible way."""
    call = verb.prepare(trials.start())
    before = trials.stored()
    trials.points.arm()
    call()
    steps, after = list(trials.points.steps), trials.stored()
    assert steps
    assert before != after
    wrong = [
        f"{fault.name} at step {number}, {step}: {why}"
        for number, (step, is_here) in enumerate(steps)
        for fault in FAULTS
        if is_possible(fault, step, is_here=is_here)
        and (why := _tried(trials, verb, fault, number, before=before, after=after))
    ]
    assert not wrong, "\n".join(wrong)


def _tried(trials: "Trials | ServerTrials", verb: Verb, fault: Fault, number: int, *, before: Any, after: Any) -> str:
    """Return what is wrong after the verb has failed at that step; empty if all is well."""
    call = verb.prepare(trials.start())
    trials.points.arm(fault, number)
    error = failing(call)
    trials.points.disarm()
    trials.check_free()
    found = trials.stored()
    if found not in (before, after):
        return f"neither before nor after, {error!r}: {difference(found, before)}"
    if error is None:
        return "" if found == after else "no error, and nothing was done"
    if found == before or not verb.repeats:
        again = failing(call)
        if trials.stored() != after:
            return f"called again after {error!r}: {again!r}, {difference(trials.stored(), after)}"
    trials.check_free()
    return ""


def difference(found: dict[str, list[Any]], wanted: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: (rows, wanted[name]) for name, rows in found.items() if rows != wanted[name]}


def rolled_back(engine: Engine, call: Callable[[Any], Any]) -> None:
    """Do the call in a transaction that the caller gives up."""
    with suppress(ZeroDivisionError), engine.transaction() as tx:
        call(tx)
        raise ZeroDivisionError


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb.joins], ids=lambda verb: verb.name)
def test_a_verb_whose_transaction_the_caller_rolls_back_can_be_called_again(trials: Trials, verb: Verb) -> None:
    assert verb.joins is not None
    with trials.start().transaction() as tx:
        verb.joins(tx)
    after = trials.stored()
    engine = trials.start()
    before = trials.stored()
    for _ in range(2):
        rolled_back(engine, verb.joins)
        assert trials.stored() == before
    with engine.transaction() as tx:
        verb.joins(tx)
    assert trials.stored() == after


def test_a_settlement_that_the_caller_rolls_back_can_be_written_again(trials: Trials) -> None:
    engine = trials.start()
    claim = engine.session(expiry="1h", beats=False).open().take("work", limit=2)
    assert claim is not None
    for item in claim:
        claim.done(item)
    before = trials.stored()
    for _ in range(2):
        rolled_back(engine, lambda tx: claim.settle(using=tx))
        assert trials.stored() == before
    with engine.transaction() as tx:
        assert claim.settle(using=tx) == {"a": "done", "b": "done"}
    assert engine["work"].progress().done == 3


def test_a_claim_that_could_not_be_stored_for_other_processes_is_free_again(trials: Trials) -> None:
    """Without a heartbeat, what was claimed is noted in a second transaction."""
    session = trials.start().session(expiry="1h", beats=False).open()
    trials.points.arm()
    session.take("work", limit=2)
    for number in range(len(trials.points.steps)):
        session = trials.start().session(expiry="1h", beats=False).open()
        trials.points.arm(FAULTS[0], number)
        assert failing(partial(session.take, "work", limit=2)) is not None
        trials.points.disarm()
        claims = [session.take("work", limit=2), session.take("work", limit=2)]
        assert sorted(item.key for claim in claims if claim for item in claim) == ["a", "b", "bad"]


class ServerTrials:
    """What `Trials` is, on a server: the state is what users see, because numbers of rows are never given twice."""

    def __init__(self, url: str) -> None:
        self.points = CrashPoints()
        self._url = url
        self._server = psycopg.connect(url, autocommit=True)
        found = "select tablename from pg_tables where tablename like 'rowlock%' and tablename <> 'rowlock_migrations'"
        self._tables = [name for (name,) in self._server.execute(found)]
        self._looking = Engine(url, clock=Clock())
        self._engine: Engine | None = None

    def start(self) -> Engine:
        self.end()
        self._server.execute(f"truncate {', '.join(self._tables)} restart identity cascade")
        self._looking["work"].settings(keep_results=True)
        self._looking["work"].add(["a", "b", "c"])
        self._engine = opened(self._url, self.points, set())
        self._engine.counter("numbers").take(3)
        return self._engine

    end, close = Trials.end, lambda self: (self.end(), self._looking.close(), self._server.close())

    def stored(self) -> dict[str, list[Any]]:
        items = [(item.key, item.state, item.attempts, item.data) for item in self._looking["work"]]
        claims = [(each.session, each.remaining) for each in self._looking.claims()]
        info = self._looking["work"].info()
        results = [(each.key, each.result) for each in self._looking["work"].newest_results()]
        numbers = self._looking.counters()
        return {"items": items, "claims": claims, "info": [info.counts, info.progress], "rest": [results, numbers]}

    def check_free(self) -> None:
        open_ones = "select query from pg_stat_activity where datname = current_database() and state like 'idle in%'"
        assert self._server.execute(open_ones).fetchall() == []


@pytest.mark.parametrize("name", HOT)
def test_a_hot_verb_fails_at_any_step_on_a_server_and_can_be_called_again(postgres_url: str, name: str) -> None:
    with closing(ServerTrials(postgres_url)) as trials:
        sweep(trials, next(verb for verb in VERBS if verb.name == name))
