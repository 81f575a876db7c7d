"""A seeded world: virtual time, simulated processes that take turns at statements, and the faults that befall them."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from random import Random
from typing import Any

import greenlet
import msgspec
from tests.simulation.disk import BEGIN, COMMIT, EPOCH, Disk, Killed, Line, driver_error
from tests.simulation.interrupts import interrupted

from rowlock import Engine
from rowlock.db import PipelinedVerb
from rowlock.environment import Environment

STATEMENT_SECONDS = 0.001
PATIENCE_SECONDS = 5.0
MAX_STATEMENTS = 5_000
"""More than ten times what any seed needs."""
UNFLUSHED = ("claims.take", "claims.take_thoroughly", "claims.take_of_several")
FAULTS = ("busy", "lost", "undone", "full", "broken", "killed", "paused", "jump", "interrupt")
"""Each seed has some of them: what one of them hides, another seed shows."""
INTERRUPTED_SHARE = 0.04
"""The share of operations that are interrupted where a seed has interrupts: to follow each bytecode is slow."""
MAX_INTERRUPTED_MOMENT = 900

Event = dict[str, Any]


class Endless(BaseException):
    """The seed does not end."""


class World:
    """Everything that a seed decides."""

    def __init__(self, seed: int, disk: Disk) -> None:
        self.seed = seed
        self.disk = disk
        self.chance = Random(seed)
        self.now = 0.0
        self.clock_offset = 0.0
        """How far the database's clock was set forward or back."""
        self._highest_offset = 0.0
        self.events: list[Event] = []
        self.marks: Counter[str] = Counter()
        """What this seed has met."""
        self.wrong: list[str] = []
        self.statements = 0
        self.processes: list[Process] = []
        self.running: Process | None = None
        """The process whose turn it is; None before the faults and after them."""
        self.faults: dict[str, float] = {}
        """How likely each fault is at a statement."""
        self.switches = 0.0
        """How likely another process goes on at a statement."""
        self._numbers = count(1)
        self.keys = count(1)
        """Numbers for the keys of new items."""
        self.told_done: set[str] = set()
        """Keys whose callers were told that they are done."""
        self.messages: list[tuple[Any, ...]] = []
        """Settlements that were sent, as any process may receive them again."""
        self._scheduler = greenlet.getcurrent()
        self.environment = Environment(
            monotonic=lambda: self.now,
            sleep=self.sleep,
            random=self.chance.random,
            token=lambda: f"t{next(self._numbers)}",
        )
        self._set_clock()

    def choose_faults(self) -> None:
        """Choose which faults this seed has, and how often processes take turns."""
        chance = self.chance
        rate = chance.choice((0.0, 0.01, 0.03, 0.08))
        self.faults = {fault: rate for fault in FAULTS if chance.random() < 0.4}
        if "killed" in self.faults:
            self.faults["killed"] = (
                rate / 4
            )  # at any statement, and a process that is killed forgets all it could do wrong
        self.switches = chance.choice((0.05, 0.2, 0.5))

    def calm(self) -> None:
        """End all faults, and wait until the clock is where it was before it was set back."""
        self.faults, self.switches = {}, 0.0
        self.clock_offset = self._highest_offset
        self._set_clock()

    def happens(self, fault: str) -> bool:
        """Whether a fault happens now."""
        rate = self.faults.get(fault)
        return rate is not None and self.chance.random() < rate

    def pass_time(self, seconds: float) -> None:
        """Let time pass for all."""
        self.now += seconds
        self._set_clock()

    def _set_clock(self) -> None:
        self.disk.time = EPOCH + self.now + self.clock_offset

    def jump(self) -> None:
        """Set the database's clock forward or back."""
        self.clock_offset += self.chance.choice((-3_600.0, -20.0, -2.0, 2.0, 20.0, 3_600.0))
        self._highest_offset = max(self._highest_offset, self.clock_offset)
        self.note("the clock of the database jumped")
        self._set_clock()

    def sleep(self, seconds: float) -> None:
        """Sleep in virtual time, while others go on."""
        if self.running is None or self.running.tracing:
            self.pass_time(seconds)
        else:
            self.running.wake_at = self.now + seconds
            self._scheduler.switch()

    def turn(self) -> None:
        """Let another process go on, perhaps."""
        if self.running is not None and self.chance.random() < self.switches:
            self._scheduler.switch()

    def note(self, mark: str) -> None:
        """Note that this seed has met something."""
        self.marks[mark] += 1

    def run(self) -> None:
        """Let all processes work until they have ended, one at a time, in an order that the seed decides."""
        while working := [each for each in self.processes if not each.greenlet.dead]:
            ready = [each for each in working if each.wake_at <= self.now]
            if not ready:
                self.now = min(each.wake_at for each in working)
                continue
            self.pass_time(STATEMENT_SECONDS)
            self.running = self.chance.choice(ready)
            self.disk.new_line = self.running.open_line
            self.running.greenlet.switch()
            self.running = None


class Process:
    """A simulated process with an engine of its own; when it is killed, another of the same name starts."""

    def __init__(self, world: World, name: str, work: Callable[["Process"], None], *, steps: int = 0) -> None:
        self.world = world
        self.steps = steps
        """How many operations are left, in all its lives."""
        self.name = name
        self.lives = 0
        self.wake_at = 0.0
        self.tracing = False
        self._committed_flushed = True
        self.greenlet = greenlet.greenlet(partial(self._work, work))
        self.start()

    def start(self) -> None:
        """Begin a life: nothing is known but what the disk holds."""
        self.lives += 1
        self.life = f"{self.name}.{self.lives}"
        self.line: Line | None = None
        self.engine = Engine(
            self.world.disk.path,
            environment=self.world.environment,
            history=partial(self._write, self.life),
            patience=PATIENCE_SECONDS,
            connections=1,
        )
        self.engine._schema_known = True  # the disk is migrated
        self.engine.database._statements = self.engine.database._joining_statements = self.world.disk.statements

    def open_line(self) -> Line:
        """Open a connection of this process."""
        self.line = Line(self.world.disk, self._before, self._after)
        return self.line

    def _write(self, life: str, event: Event) -> None:
        if life != self.life:
            return  # the dead write nothing
        if event["phase"] == "ok" and not self._committed_flushed and event["operation"] not in UNFLUSHED:
            self.world.wrong.append(f"{event['operation']} was answered and a power cut could lose it")
        self._committed_flushed = True
        event["process"], event["thread"] = life, 0
        self.world.events.append(msgspec.to_builtins(event, enc_hook=_plain, str_keys=True))

    def _work(self, work: Callable[["Process"], None]) -> None:
        while True:
            try:
                work(self)
                return
            except Killed:
                self.world.note("a process was killed")
                self.start()

    def kill(self) -> None:
        """End this life at this moment."""
        self.life = "dead"
        if self.line is not None:
            self.line.killed = True
            self.line.close()
        raise Killed

    def close(self) -> None:
        """End gently."""
        self.engine.close()

    @contextmanager
    def operation(self) -> Iterator[None]:
        """A block after which nothing may be left behind: no transaction, no lock, no connection in use."""
        yield
        if self.line is None or not self.line.alive:
            return
        lock = self.engine.database.driver.check_write_lock.__self__  # type: ignore[attr-defined]
        if self.line.in_transaction or lock.holders() or self.engine.database._pool.busy:
            self.world.wrong.append(f"{self.name} left a transaction, a lock or a connection in use behind")
            self.kill()

    def call(self, operation: Callable[[], object]) -> None:
        """Do an operation, interrupted at some moment of it if the seed says so."""
        with self.operation():
            if self._is_interrupted():
                self.tracing = True
                try:
                    if interrupted(operation, at=self.world.chance.randrange(MAX_INTERRUPTED_MOMENT)):
                        self.world.note("an operation was interrupted")
                finally:
                    self.tracing = False
            else:
                operation()

    def _is_interrupted(self) -> bool:
        # Not while another process writes: the operation that is traced could not wait for it.
        world = self.world
        return (
            bool(world.faults.get("interrupt"))
            and world.disk.writer is None
            and world.chance.random() < INTERRUPTED_SHARE
        )

    def _before(self, line: Line, sql: str) -> None:
        world = self.world
        world.statements += 1
        if world.statements > MAX_STATEMENTS:
            raise Endless
        if world.running is not self or self.tracing:
            return
        if sql == COMMIT:
            self._before_commit(line)
        elif sql == BEGIN:
            world.turn()
            self._before_begin()
        elif not line.in_transaction:
            world.turn()
            while world.disk.writer is not None:
                world.sleep(STATEMENT_SECONDS)  # what is committed is read when the writer has ended
        elif world.happens("broken"):
            world.note("a statement failed")
            raise driver_error(sqlite3.SQLITE_IOERR, "SQLITE_IOERR")
        if world.happens("killed"):
            self.kill()

    def _before_begin(self) -> None:
        world = self.world
        if world.happens("paused"):
            world.note("a process paused")
            world.sleep(world.chance.choice((1.0, 8.0, 20.0, 60.0)))
        if world.happens("jump"):
            world.jump()
        if world.happens("busy"):
            world.note("the file was busy")
            raise driver_error(sqlite3.SQLITE_BUSY, "SQLITE_BUSY")

    def _before_commit(self, line: Line) -> None:
        world = self.world
        world.turn()  # others meet its lock
        if world.happens("undone"):
            world.note("a commit failed and was undone")
            line.undo()
            raise driver_error(sqlite3.SQLITE_IOERR, "SQLITE_IOERR")
        if world.happens("full"):
            world.note("the disk was full")
            raise driver_error(sqlite3.SQLITE_FULL, "SQLITE_FULL")

    def _after(self, line: Line, sql: str) -> None:
        if sql == COMMIT:
            self._committed_flushed = line.flushes
        world = self.world
        if world.running is not self or self.tracing:
            return
        if sql == COMMIT:
            if world.happens("killed"):
                world.note("a process was killed after a commit")
                self.kill()
            if world.happens("lost"):
                world.note("an answer was lost after the commit")
                raise driver_error(sqlite3.SQLITE_IOERR, "SQLITE_IOERR")
            world.turn()


def _plain(value: Any) -> str:
    """Return as text what JSON does not have, without addresses in memory: a seed repeats itself."""
    if isinstance(value, msgspec.Raw):
        return bytes(value).decode()
    return str(value) if isinstance(value, range | PipelinedVerb) else type(value).__name__
