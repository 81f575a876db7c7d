"""Commands as handlers: a template is filled in and run for each item or batch, and its exit status is the outcome."""

import errno
import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from pathlib import Path
from typing import Protocol

import msgspec

from rowlock import tracing
from rowlock.durations import Duration, milliseconds
from rowlock.model import Item
from rowlock.outcomes import Done, Fail, Outcome, Retry
from rowlock.worker.exec.command_template import CommandTemplate, check_program
from rowlock.worker.exec.output_files import OutputFiles, printed_result, tail
from rowlock.worker.exec.placeholders import MissingField
from rowlock.worker.exec.process_groups import CommandEnd, ProcessGroups
from rowlock.worker.exec.throttle import Throttle
from rowlock.worker.handlers import HandlerKind, timeout_seconds
from rowlock.worker.settler import InFlightClaim
from rowlock.worker.thread_pool import Finish

log = logging.getLogger("rowlock.worker")

RETRY_LATER_STATUS = os.EX_TEMPFAIL
FAIL_STATUS = os.EX_DATAERR
NOT_FOUND, NOT_EXECUTABLE = 127, 126
SCARCITY_RETRY_SECONDS = 5.0
MAX_SUPERVISORS = 2
"""A supervisor waits while a command starts, about as long as `true` runs: two of them start twice as many."""
TICK_SECONDS = 0.05
"""How often a throttle is asked again, and new output is looked for."""

_SCARCE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_STATUS_TEXTS = {NOT_FOUND: "exit status 127: command not found", NOT_EXECUTABLE: "exit status 126: cannot be executed"}
_ITEM_VARIABLES = ("ROWLOCK_KEY", "ROWLOCK_ATTEMPT", "ROWLOCK_DATA")

Trouble = Callable[[OSError], None]


class CommandRun(msgspec.Struct):
    """A command that runs for an item or a batch."""

    claim: InFlightClaim
    items: Sequence[Item]
    number: int
    """Its number in this run of the worker, from 1."""
    slot: int
    words: Sequence[str]
    output: tuple[str, str]
    """The paths of its stdout and stderr."""
    groups: ProcessGroups
    """The process groups of the supervisor that starts it."""
    stdin: str | None = None
    is_void: bool = False
    """Whether its turn is over: nothing of it is settled."""
    end: CommandEnd | None = None
    end_span: tracing.Ended | None = None
    discard: Callable[[], None] = lambda: None
    """Deletes its files."""


class CommandListener(Protocol):
    """A receiver of the beginnings and ends of commands; called from one thread at a time."""

    needs_ticks: bool

    def began(self, run: CommandRun) -> None:
        """Note that a command begins."""

    def ended(self, run: CommandRun, outcome: Outcome | None) -> None:
        """Show what a command wrote, then discard it; None stands for a command whose turn is over."""

    def tick(self) -> None:
        """Show what running commands have written."""


class Commands:
    """A command for each item or batch, with its options; makes the executor that runs them."""

    def __init__(
        self,
        template: CommandTemplate,
        *,
        listener: CommandListener,
        trouble: Trouble,
        timeout: Duration | None = None,
        later: Duration = "30s",
        keep_output: Path | None = None,
        throttle: Throttle | None = None,
        nice: int = 0,
    ) -> None:
        check_program(template)
        self.template = template
        self.listener = listener
        self.trouble = trouble
        self.timeout = timeout_seconds(timeout)
        self.outputs = OutputFiles(keep_output)
        self.throttle = throttle or Throttle()
        self._nice = nice
        self._later = milliseconds(later) / 1_000
        self._environment = {name: value for name, value in os.environ.items() if name not in _ITEM_VARIABLES}
        self._executor: CommandExecutor | None = None
        self.is_halted = False
        """Whether no more commands start."""

    @property
    def running(self) -> int:
        """How many commands run."""
        return 0 if self._executor is None else self._executor.running

    def executor(self, size: int, finish: Finish) -> "CommandExecutor":
        """Return what runs up to `size` commands at once, and reports the outcomes of their items to `finish`."""
        self._executor = CommandExecutor(self, size, finish)
        return self._executor

    def process_groups(self) -> ProcessGroups:
        """Start a supervisor for commands."""
        return ProcessGroups(self._environment, nice=self._nice)

    def environment_of(self, items: Sequence[Item], traceparent: str | None) -> dict[str, str]:
        """Return the variables of a command that tell of its items."""
        known = {"ROWLOCK_LIST": items[0].list, "ROWLOCK_CLAIM": items[0].token or ""}
        if not self.template.batch:
            [item] = items
            values = (item.key, str(item.attempts + 1), item.raw_data or "null")
            known.update(zip(_ITEM_VARIABLES, values, strict=True))
        if traceparent is not None:
            known["TRACEPARENT"] = traceparent
        return known

    def outcome(self, run: CommandRun, end: CommandEnd) -> Outcome:
        """Return what the end of a command means for its items."""
        status = end.status
        if end.word == "late":
            return Retry(f"timed out after {self.timeout:g}s", kind="timeout")
        if end.word == "error":
            return _not_run(status, self.template.words[0])
        if end.word != "exit":
            return Retry(after=0, counted=False)
        if status == 0:
            # A claim of a list that keeps no results is settled whole. The output of a batch is not that of one item.
            is_kept = not (run.claim.settles_whole or self.template.batch)
            return Done(printed_result(run.output[0]) if is_kept else None)
        if status == RETRY_LATER_STATUS:
            return Retry(after=self._later, counted=False)
        message = tail(run.output[1]) or _status_text(status)
        kind = f"exit {status}" if status > 0 else f"signal {-status}"
        return Fail(message, kind) if status == FAIL_STATUS else Retry(message, kind=kind)


class CommandExecutor:
    """Runs commands, up to `size` at once, without a thread for each: one thread for each supervisor waits for them."""

    def __init__(self, commands: Commands, size: int, finish: Finish) -> None:
        self._commands = commands
        self._finish = finish
        self._lock = threading.RLock()
        self._ended = threading.Condition(self._lock)
        self._queue: deque[tuple[InFlightClaim, Sequence[Item]]] = deque()
        self._running: dict[int, CommandRun] = {}
        self._free = list(range(1, size + 1))
        self._number = 0
        self._closing = False
        self._supervisors = [commands.process_groups() for _ in range(min(size, MAX_SUPERVISORS))]
        places = range(len(self._supervisors))
        self._threads = [
            threading.Thread(target=self._serve, args=(place,), name="rowlock commands", daemon=True)
            for place in places
        ]
        for thread in self._threads:
            thread.start()

    @property
    def running(self) -> int:
        """How many commands run."""
        return len(self._running)

    def submit(self, claim: InFlightClaim) -> None:
        """Run a claim: item by item, or as one batch; in the worker's thread."""
        with self._lock:
            if claim.handler.kind is HandlerKind.BATCH:
                self._queue.append((claim, list(claim.items)))
            elif claim.in_order:
                self._queue_next(claim)
            else:
                self._queue.extend((claim, [item]) for item in claim.items)
            self._start_queued()

    def _queue_next(self, claim: InFlightClaim) -> None:
        if (item := claim.next_item()) is not None:
            self._queue.append((claim, [item]))

    def _start_queued(self) -> None:
        throttle = self._commands.throttle
        while self._queue and self._free and not (self._closing or self._commands.is_halted):
            if throttle.is_needed and not throttle.admits(len(self._running)):
                return
            claim, items = self._queue.popleft()
            if not claim.cancelled.is_set():
                self._start(claim, items)

    def _start(self, claim: InFlightClaim, items: Sequence[Item]) -> None:
        number, slot = self._number + 1, self._free[0]
        groups = self._supervisors[slot % len(self._supervisors)]
        try:
            words = self._commands.template.filled(items, number=number, slot=slot)
            output = self._commands.outputs.paths(items, f"{groups.folder}/{number}")
            stdin = self._stdin(f"{groups.folder}/{number}.in", items)
        except MissingField as error:
            self._settle(claim, [error.item], Fail(str(error), kind="missing field"))
            if rest := [item for item in items if item is not error.item]:
                self._queue.appendleft((claim, rest))
            return
        except OSError as error:  # no room for its files
            self._commands.trouble(error)
            self._settle(claim, items, Retry(after=0, counted=False))
            return
        self._number = number
        run = CommandRun(claim, items, number, heappop(self._free), words, output, groups, stdin)
        run.discard = lambda: self._commands.outputs.discard(output)
        self._running[number] = run
        self._launch(run)

    def _launch(self, run: CommandRun) -> None:
        for item in run.items if run.claim.before is not None else ():
            run.claim.before(item)  # type: ignore[misc]
        traceparent = tracing.outgoing_traceparent(run.items)
        if run.claim.spans is not None:
            own, run.end_span = run.claim.spans.of_command(run.items)
            traceparent = own or traceparent
        self._commands.listener.began(run)
        environment = self._commands.environment_of(run.items, traceparent)
        run.groups.start(
            run.number,
            run.words,
            environment=environment,
            stdin=run.stdin,
            output=run.output,
            timeout=self._commands.timeout,
        )

    def _stdin(self, path: str, items: Sequence[Item]) -> str | None:
        # A file instead of a pipe: a command that never reads cannot block.
        if not self._commands.template.stdin:
            return None
        Path(path).write_text("".join(f"{item.key}\n" for item in items))
        return path

    def _serve(self, place: int) -> None:
        listener, throttle = self._commands.listener, self._commands.throttle
        seconds = TICK_SECONDS if listener.needs_ticks or throttle.is_needed else None
        while True:
            ends = self._supervisors[place].ends(seconds)
            if ends is None and not self._recovered(place):
                return
            with self._lock:
                for end in ends or ():
                    self._end(self._running.pop(end.number), end)
                if listener.needs_ticks:
                    self._guarded(listener.tick)
                self._start_queued()
                self._ended.notify_all()

    def _recovered(self, place: int) -> bool:
        """End the commands of a supervisor that has ended before the worker; return whether another takes its place."""
        with self._lock:
            groups, is_needed = self._supervisors[place], not self._closing
            groups.kill()
            groups.finish()
            groups.close()
            if is_needed:
                log.warning("the supervisor of the commands has ended; they are stopped and run again")
                self._supervisors[place] = self._commands.process_groups()
            for run in [run for run in self._running.values() if run.groups is groups]:
                self._end(self._running.pop(run.number), CommandEnd(run.number, "lost", 0))
            self._ended.notify_all()
            return is_needed

    def _end(self, run: CommandRun, end: CommandEnd) -> None:
        heappush(self._free, run.slot)
        run.end = end
        if run.stdin is not None:
            with suppress(OSError):
                Path(run.stdin).unlink()
        outcome = None if run.is_void else self._commands.outcome(run, end)
        if end.word == "files":
            self._commands.trouble(OSError(end.status, os.strerror(end.status)))
        is_too_long = end.word == "error" and end.status == errno.E2BIG and len(run.items) > 1
        if run.end_span is not None and outcome is not None:
            run.end_span(outcome)
        self._guarded(lambda: self._commands.listener.ended(run, None if is_too_long else outcome))
        if outcome is None:
            return
        if is_too_long:
            middle = len(run.items) // 2
            self._queue.extendleft([(run.claim, run.items[middle:]), (run.claim, run.items[:middle])])
            return
        if log.isEnabledFor(logging.INFO):
            _log(run, outcome, end.seconds)
        self._settle(run.claim, run.items, outcome)

    def _settle(self, claim: InFlightClaim, items: Sequence[Item], outcome: Outcome) -> None:
        for item in items:
            self._finish(claim, item, outcome)
        if claim.in_order:
            self._queue_next(claim)

    def _guarded(self, show: Callable[[], None]) -> None:
        try:
            show()
        except OSError as error:  # the reader has gone; the command has done its work
            self._commands.trouble(error)

    def return_unstarted(self) -> None:
        """Give back what has not begun; in the worker's thread."""
        with self._lock:
            for claim, items in self._queue:
                claim.returned += len(items)
            self._queue.clear()

    def cancel(self, claim: InFlightClaim) -> None:
        """End the commands of a claim of which nothing will be settled."""
        with self._lock:
            for run in self._running.values():
                if run.claim is claim and not run.is_void:
                    run.is_void = True
                    run.groups.end(run.number)

    def shutdown(self) -> None:
        """End all commands that still run, and the supervisor."""
        with self._lock:
            self._closing = True
            self._queue.clear()
            for run in self._running.values():
                run.is_void = True
                run.groups.end(run.number)
            self._ended.wait_for(lambda: not self._running)
        for groups, thread in zip(self._supervisors, self._threads, strict=True):
            groups.finish()
            thread.join()
            groups.close()


def _log(run: CommandRun, outcome: Outcome, seconds: float) -> None:
    first = run.items[0]
    about = {"list": first.list, "key": first.key, "attempt": first.attempts + 1, "items": len(run.items)}
    log.info("command ended", extra={**about, "outcome": type(outcome).__name__.lower(), "seconds": seconds})


def _status_text(status: int) -> str:
    if status >= 0:
        return _STATUS_TEXTS.get(status, f"exit status {status}")
    names = {each.value: each.name for each in signal.Signals}
    return f"killed by signal {-status}" + (f" ({names[-status]})" if -status in names else "")


def _not_run(number: int, program: str) -> Outcome:
    message = f"{program!r} cannot be run: {os.strerror(number).lower()}"
    if number in _SCARCE:
        return Retry(message, after=SCARCITY_RETRY_SECONDS, counted=False, kind="scarcity")
    if number == errno.E2BIG:
        return Fail(f"{message}; give fewer keys at once, or less data", kind="too long")
    return Retry(message, kind=f"exit {NOT_FOUND if number == errno.ENOENT else NOT_EXECUTABLE}")
