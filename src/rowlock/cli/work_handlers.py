"""What `rowlock work` runs for each item, a command or an HTTP request, and when `--halt` ends the work."""

import os
import re
import threading
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from click.core import ParameterSource

from rowlock.cli.invocation import long_options
from rowlock.errors import Invalid
from rowlock.model import ListInfo
from rowlock.outcomes import Done, Outcome, is_failure
from rowlock.settings import Processor, secrets_in
from rowlock.worker import Worker
from rowlock.worker.exec.command_template import CommandTemplate, check_program
from rowlock.worker.exec.commands import CommandListener, Commands, Trouble
from rowlock.worker.exec.throttle import Throttle

COMMAND_OPTIONS = (
    *("batch", "delay", "dry_run", "halt", "joblog", "keep_order", "keep_output", "later", "line_buffer", "load"),
    *("memfree", "nice", "shell", "stdin", "tag"),
)
REQUEST_OPTIONS = ("allow_host", "header", "secret_env")
MIN_ATTEMPTS_FOR_A_SHARE = 3
_HALT = re.compile(r"(now|soon),(fail|success|done)=([1-9][0-9]{0,11})(%?)")


class Halt(msgspec.Struct):
    """A number of attempts, or a share of all, after which the work ends."""

    at_once: bool = False
    """Whether commands that run are ended too."""
    kind: str = "fail"
    number: int = 0
    """0 for no limit."""
    is_share: bool = False
    counted: int = 0
    ended: int = 0

    def reached(self, outcome: Outcome) -> bool:
        """Count an attempt, and return whether the work is to end now, which is said once."""
        was_reached = self._is_reached
        fits = {"fail": is_failure(outcome), "success": isinstance(outcome, Done), "done": True}
        self.ended += 1
        self.counted += fits[self.kind]
        return self._is_reached and not was_reached

    @property
    def _is_reached(self) -> bool:
        if not self.is_share:
            return 0 < self.number <= self.counted
        return self.counted >= MIN_ATTEMPTS_FOR_A_SHARE and 100 * self.counted >= self.number * self.ended

    def __str__(self) -> str:
        word = {"fail": "failed", "success": "succeeded", "done": "ended"}[self.kind]
        return f"{self.counted:,} of {self.ended:,} attempts {word}"


def parse_halt(text: str | None) -> Halt:
    """Read a limit such as `soon,fail=3` or `now,fail=20%`; `never` and None are no limit."""
    if text is None or text == "never":
        return Halt()
    found = _HALT.fullmatch(text)
    if found is None or (found[4] and int(found[3]) > 100):
        hint = "soon lets running commands finish, now ends them; the number may be a share, as in now,fail=20%"
        raise Invalid(f"halt must be like soon,fail=3, got {text[:50]!r}", hint)
    return Halt(found[1] == "now", found[2], int(found[3]), bool(found[4]))


class WorkOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments and options of `rowlock work`: what runs for each item, and how."""

    words: tuple[str, ...]
    """The command and its arguments."""
    concurrency: int | None
    attempts: int | None
    backoff: str | None
    timeout: str | None
    later: str
    batch: int | None
    shell: bool
    stdin: bool
    keep_output: Path | None
    tag: bool
    keep_order: bool
    line_buffer: bool
    joblog: Path | None
    halt: str | None
    delay: str | None
    load: str | None
    memfree: str | None
    nice: int
    dry_run: bool
    http: str | None
    header: tuple[str, ...]
    secret_env: tuple[str, ...]
    allow_host: tuple[str, ...]
    wait: bool
    expiry: str

    def check(self) -> None:
        """Refuse options that exclude each other, and a command that cannot run, before a database is opened."""
        if self.words and self.http:
            raise Invalid("a command cannot be combined with --http", "give one of them")
        needs = "--http" if self.words else "a command"
        _refuse_given(REQUEST_OPTIONS if self.words else COMMAND_OPTIONS, needs, "leave it out")
        if self.keep_order and self.line_buffer:
            raise Invalid("--keep-order cannot be combined with --line-buffer", "give one of them")
        if self.shell and len(self.words) > 1:
            raise _too_many_words(self.words)
        parse_halt(self.halt)
        self.throttle()
        if self.words:
            check_program(self.template())
        elif self.http:
            self.processor(self.http)

    def template(self) -> CommandTemplate:
        """Return the command; Invalid if it has a wrong placeholder."""
        return CommandTemplate(self.words, shell=self.shell, batch=self.batch is not None, stdin=self.stdin)

    def throttle(self) -> Throttle:
        """Return what holds commands back; Invalid if a limit is wrong."""
        return Throttle(delay=self.delay, load=self.load, memory=self.memfree)

    def processor(self, url: str) -> Processor:
        """Return the processor at a URL; Invalid if a header is wrong."""
        headers = {}
        for text in self.header:
            name, colon, value = text.partition(":")
            if not colon:
                raise Invalid(f"a header must be NAME: VALUE, got {name!r}", "write it like 'x-team: blue'")
            headers[name.strip()] = value.strip()
        return Processor(url, timeout=self.timeout or "30s", headers=headers)


def _too_many_words(words: Sequence[str]) -> Invalid:
    options = long_options(click.get_current_context().command)
    word = next((each for each in words[1:] if each in options), words[1])
    what = f"the command of --shell must be one word, got {word!r} after {words[0]!r}"
    return Invalid(what, "put options before the command, and quote the command as one word")


def _usable_cores() -> int:
    """Return how many cores this process may use; all of the machine where the system cannot tell, as on macOS."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class CommandRunner:
    """A command for each item, or for each batch of items."""

    def __init__(self, options: WorkOptions, *, listener: CommandListener, on_error: Trouble) -> None:
        self.default_concurrency = _usable_cores()
        self._options = options
        self._commands = Commands(
            options.template(),
            listener=listener,
            trouble=on_error,
            timeout=options.timeout,
            later=options.later,
            keep_output=_created_folder(options.keep_output),
            throttle=options.throttle(),
            nice=options.nice,
        )

    def register(self, worker: Worker, name: str) -> None:
        """Run the command for the items of a list."""
        options = self._options
        worker.execute(name, self._commands, attempts=options.attempts, backoff=options.backoff, batch=options.batch)

    @property
    def running(self) -> int:
        """Return how many commands are running."""
        return self._commands.running

    def stop(self) -> None:
        """Start no more commands."""
        self._commands.is_halted = True


class RequestRunner:
    """A request for each item to a processor: the given one, or that of the list's settings."""

    default_concurrency = 16

    def __init__(self, processor: Processor | None, options: WorkOptions, *, allow: Sequence[str]) -> None:
        self.running = 0
        self._processor = processor
        self._options = options
        self._allow = allow
        self._secrets = [secret for name in options.secret_env for secret in secrets_in(name, os.environ)]
        self._lock = threading.Lock()

    def register(self, worker: Worker, name: str) -> None:
        """Send the items of a list."""
        attempts, backoff = self._options.attempts, self._options.backoff
        worker.process(
            name, self._processor, secrets=self._secrets, attempts=attempts, backoff=backoff, allow=self._allow
        )
        worker.before(lambda _: self._count(1))
        worker.after(lambda *_: self._count(-1))

    def _count(self, change: int) -> None:
        with self._lock:
            self.running += change

    def stop(self) -> None:
        """Do nothing: a request in flight is answered, or given up with its thread."""


def choose(
    infos: Sequence[ListInfo],
    options: WorkOptions,
    *,
    listener: CommandListener,
    on_error: Trouble,
    allow: Sequence[str],
) -> CommandRunner | RequestRunner:
    """Return the runner for a command, for --http, or for the processor of the list's settings."""
    if options.words:
        return CommandRunner(options, listener=listener, on_error=on_error)
    if options.http:
        return RequestRunner(options.processor(options.http), options, allow=allow)
    processors = [info.settings.processor for info in infos if info.settings.processor is not None]
    if not processors:
        what = f"work needs a command, --http, or a processor in the settings of {infos[0].name!r}"
        raise Invalid(what, "put a command after --, as in: rowlock work LIST -- curl -fsSO {}")
    hint = "set it in the list's settings for its processor"
    _refuse_given(("header", "secret_env", "timeout"), "--http", hint)
    from rowlock.worker.http_processor import check as check_processor  # heavy: imported only to send requests

    for processor in processors:
        check_processor(processor, allow)
    return RequestRunner(None, options, allow=allow)


def _refuse_given(names: Sequence[str], needs: str, hint: str) -> None:
    """Refuse those of the options that were given, on the command line or in the environment."""
    for name in names:
        if click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise Invalid(f"--{name.replace('_', '-')} needs {needs}", hint)


def _created_folder(path: Path | None) -> Path | None:
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or "no reason given").lower()
            raise Invalid(f"--keep-output {str(path)!r} cannot be created: {reason}") from None
    return path
