"""Commands as handlers: a template is filled in and run for each item or batch, and its exit status is the outcome."""

import errno
import logging
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from rowlock import tracing
from rowlock.durations import Duration, milliseconds
from rowlock.errors import Invalid
from rowlock.model import Item
from rowlock.names import closest
from rowlock.outcomes import Done, Fail, Outcome, Retry
from rowlock.worker.exec.process_groups import Overdue, ProcessGroups
from rowlock.worker.exec.shell_injection import refuse_code
from rowlock.worker.handlers import Turn, timeout_seconds

log = logging.getLogger("rowlock.worker")

RETRY_LATER_STATUS = os.EX_TEMPFAIL
FAIL_STATUS = os.EX_DATAERR
NOT_FOUND, NOT_EXECUTABLE = 127, 126
SCARCITY_RETRY_SECONDS = 5.0
TOO_LONG = "too long"

_SCARCE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_STATUS_TEXTS = {NOT_FOUND: "exit status 127: command not found", NOT_EXECUTABLE: "exit status 126: cannot be executed"}
_ITEM_VARIABLES = ("ROWLOCK_KEY", "ROWLOCK_ATTEMPT", "ROWLOCK_DATA")

STDERR_TAIL_BYTES = 4096
_MAX_NAME_BYTES = 180
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|%+]|^\.')

_FIELD = re.compile(r"\{((?<!\$\{)(?:name|stem|attempt|list)|)\}")
"""A placeholder; `${name}` is a variable of a shell."""
_LIKE_A_FIELD = re.compile(r"(?<!\$)\{([a-z]+)\}")
_OF_A_KEY = ("", "name", "stem")
_SHELL = "/bin/sh"

Show = Callable[[IO[bytes], IO[bytes]], None]
Trouble = Callable[[OSError], None]
Files = tuple[IO[bytes], IO[bytes]]
"""The stdout and stderr of a command."""


def _name(item: Item) -> str:
    return PurePosixPath(item.key).name or item.key


_FIELDS: dict[str, Callable[[Item], str]] = {
    "": lambda item: item.key,
    "name": _name,
    "stem": lambda item: PurePosixPath(_name(item)).stem,
    "attempt": lambda item: str(item.attempts + 1),
    "list": lambda item: item.list,
}


class CommandTemplate(msgspec.Struct, frozen=True):
    """A command's words, with placeholders for an item's key, name, stem, attempt and list."""

    words: tuple[str, ...]
    shell: bool = False
    """Whether the words are one line for a shell."""
    batch: bool = False
    """Whether one command gets many items."""

    def __post_init__(self) -> None:
        if not self.words or not self.words[0]:
            raise Invalid("no command was given", "put it after --, as in: rowlock work LIST -- curl -fsSO {}")
        for word in self.words:
            _refuse_misspelt(word)
        wrong = self._fields & ({"attempt"} | ({"name", "stem"} if self.shell else set()) if self.batch else set())
        if wrong:
            what = f"{{{min(wrong)}}} cannot be filled in for a batch{' in a shell' if self.shell else ''}"
            raise Invalid(what, "a batch knows {} and {list}; or leave --batch out")
        if self.shell:
            refuse_code(" ".join(self.words))

    @property
    def _fields(self) -> set[str]:
        return {field for word in self.words for field in _FIELD.findall(word)}

    @property
    def on_stdin(self) -> bool:
        """Whether the command reads the keys from standard input: no placeholder names them."""
        return not self._fields & set(_OF_A_KEY)

    @property
    def program(self) -> str | None:
        """The program that runs; None if it depends on the item."""
        return _SHELL if self.shell else None if _FIELD.search(self.words[0]) else self.words[0]

    def filled(self, items: Sequence[Item]) -> list[str]:
        """Return the command for these items."""
        if self.shell:
            return self._in_shell(items)
        return [filled for word in self.words for filled in _filled(word, items)]

    def _in_shell(self, items: Sequence[Item]) -> list[str]:
        # Values are passed as parameters, never as text of the line: the shell reads no key as a command.
        fields = ("",) if self.batch else tuple(_FIELDS)
        places = {"": "$@"} if self.batch else {field: f"${number}" for number, field in enumerate(fields, 1)}
        line = _quoted(" ".join(self.words), {**places, "list": "$ROWLOCK_LIST"})
        return [_SHELL, "-c", line, "rowlock", *[_FIELDS[field](item) for item in items for field in fields]]


def _refuse_misspelt(word: str) -> None:
    # Other braces belong to the command: '{print}' of awk, '${name}' of a shell.
    for name in _LIKE_A_FIELD.findall(word):
        meant = "" if name == "key" else name if name in _FIELDS else closest(name, _FIELDS)
        if meant is not None and meant != name:
            raise Invalid(f"unknown placeholder {{{name}}}", f"did you mean {{{meant}}}?")


def _filled(word: str, items: Sequence[Item]) -> list[str]:
    # A word that names keys comes once per item, others once.
    every = items if any(field in _OF_A_KEY for field in _FIELD.findall(word)) else items[:1]
    return [_FIELD.sub(lambda found, item=item: _FIELDS[found[1]](item), word) for item in every]  # type: ignore[misc]


def _quoted(line: str, places: dict[str, str]) -> str:
    """Return the line with a parameter for each placeholder, quoted as its surroundings need."""
    pieces: list[str] = []
    quote, at = "", 0
    while at < len(line):
        found = _FIELD.match(line, at)
        if found:
            pieces.append({"": '"{}"', '"': "{}", "'": "'\"{}\"'"}[quote].format(places[found[1]]))
            at = found.end()
            continue
        step = 2 if line[at] == "\\" and quote != "'" else 1
        if line[at] in "'\"" and quote in ("", line[at]):
            quote = "" if quote else line[at]
        pieces.append(line[at : at + step])
        at += step
    return "".join(pieces)


def safe_name(key: str) -> str:
    """Return a file name for a key: readable, never a path, and different for each key."""
    name = _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", key)
    if len(name.encode()) <= _MAX_NAME_BYTES:
        return name
    digest = blake2b(key.encode(), digest_size=8).hexdigest()
    return f"{name.encode()[:_MAX_NAME_BYTES].decode(errors='ignore')}%-{digest}"


def tail(file: IO[bytes]) -> str:
    """Return the last few kilobytes of a file as text."""
    file.seek(max(0, file.seek(0, 2) - STDERR_TAIL_BYTES))
    return file.read().decode(errors="replace").strip()


class OutputCapture:
    """Files for the stdout and stderr of each command: kept in a folder, or deleted when they are closed."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @contextmanager
    def files(self, items: Sequence[Item]) -> Iterator[Files]:
        """Yield the two files for a command that runs for these items; a batch is named by its first."""
        with ExitStack() as stack:
            if self._folder is None:
                yield stack.enter_context(tempfile.TemporaryFile()), stack.enter_context(tempfile.TemporaryFile())
                return
            name = safe_name(items[0].key) + (f"+{len(items) - 1}" if len(items) > 1 else "")
            out, error = (stack.enter_context((self._folder / f"{name}.{end}").open("w+b")) for end in ("out", "err"))
            yield out, error


def check_program(template: CommandTemplate) -> None:
    """Refuse a command whose program does not exist, before anything is claimed."""
    program = template.program
    whole = "" if template.shell else template.words[0]
    first, _, rest = whole.partition(" ")
    if rest and not os.path.lexists(whole) and shutil.which(first) is not None:
        raise Invalid(f"there is no program {whole!r}", "leave the quotes out, or give the line with --shell")
    if program is None or shutil.which(program) is not None:
        return
    if os.path.lexists(program) and "/" in program:
        wrong = "is a folder" if os.path.isdir(program) else "is not executable"  # noqa: PTH112
        raise Invalid(f"{program!r} {wrong}", f"make it so: chmod +x {program}" if wrong.endswith("executable") else "")
    raise Invalid(f"there is no program {program!r}", "check its name and PATH; a line for a shell needs --shell")


class CommandHandler:
    """Runs a command per item or batch, each in its own process group, and shows its output when it has ended."""

    def __init__(
        self,
        template: CommandTemplate,
        *,
        show: Show,
        trouble: Trouble,
        timeout: Duration | None = None,
        later: Duration = "30s",
        outputs: OutputCapture | None = None,
    ) -> None:
        check_program(template)
        self._template = template
        self._show = show
        self._trouble = trouble
        self._timeout = timeout_seconds(timeout)
        self._later = milliseconds(later) / 1_000
        self._outputs = outputs or OutputCapture()
        self._environment = {name: value for name, value in os.environ.items() if name not in _ITEM_VARIABLES}
        self._stopped = threading.Event()
        self._interrupted = threading.Event()
        self._groups = ProcessGroups()

    @property
    def running(self) -> int:
        """How many commands run."""
        return self._groups.count

    def expect_interrupts(self) -> None:
        """Give back, uncounted, commands that Ctrl-C ends from now on: they were just being started."""
        self._interrupted.set()

    def stop(self) -> None:
        """Ask all commands to end now; their outcomes do not count any more."""
        self._stopped.set()
        self._groups.terminate()

    def close(self) -> None:
        """End all commands that still run."""
        self._stopped.set()
        self._groups.end()

    def handle(self, item: Item, turn: Turn) -> Outcome:
        """Run the command for one item."""
        return self._run([item], turn.cancelled)

    def handle_batch(self, items: Sequence[Item]) -> list[Outcome]:
        """Run the command for many items, with one outcome for all; a batch that is too long for it is halved."""
        outcome = self._run(items, threading.Event())
        if _is_too_long(outcome) and len(items) > 1:
            middle = len(items) // 2
            return [*self.handle_batch(items[:middle]), *self.handle_batch(items[middle:])]
        return [outcome] * len(items)

    def _run(self, items: Sequence[Item], cancelled: threading.Event) -> Outcome:
        since = time.monotonic()
        try:
            with self._outputs.files(items) as output, self._input(items) as stdin:
                outcome = self._outcome(items, cancelled, stdin, output)
                if outcome is not None:
                    self._show_output(output)
        except OSError as error:  # no room for its files
            self._trouble(error)
            outcome = None
        if outcome is None:
            cancelled.wait(1)  # the turn is over, and nothing of it will be settled
            return Retry(after=0, counted=False)
        if len(items) == 1 or not _is_too_long(outcome):
            first, seconds = items[0], round(time.monotonic() - since, 3)
            about = {"list": first.list, "key": first.key, "attempt": first.attempts + 1, "items": len(items)}
            log.info("command ended", extra={**about, "outcome": type(outcome).__name__.lower(), "seconds": seconds})
        return outcome

    def _show_output(self, output: Files) -> None:
        for file in output:
            file.seek(0)
        try:
            self._show(*output)
        except OSError as error:  # the reader has gone; the command has done its work
            self._trouble(error)

    def _outcome(self, items: Sequence[Item], cancelled: threading.Event, stdin: str, output: Files) -> Outcome | None:
        try:
            status = self._groups.run(
                self._template.filled(items),
                self._environment_of(items),
                stdin=stdin,
                output=output,
                is_over=lambda: cancelled.is_set() or self._stopped.is_set(),
                timeout=self._timeout,
            )
        except Overdue:
            return Retry(f"timed out after {self._timeout:g}s", kind="timeout")
        except OSError as error:
            return _not_run(error, self._template.words[0])
        if status is None:
            return None
        if status == 0:
            return Done()
        if status == -signal.SIGINT and self._interrupted.is_set():
            return Retry(after=0, counted=False)
        if status == RETRY_LATER_STATUS:
            return Retry(after=self._later, counted=False)
        message = tail(output[1]) or _status_text(status)
        kind = f"exit {status}" if status > 0 else f"signal {-status}"
        return Fail(message, kind) if status == FAIL_STATUS else Retry(message, kind=kind)

    @contextmanager
    def _input(self, items: Sequence[Item]) -> Iterator[str]:
        # A file instead of a pipe: a command that never reads cannot block.
        if not self._template.on_stdin:
            yield os.devnull
            return
        with tempfile.NamedTemporaryFile(prefix="rowlock-") as file:
            file.write("".join(f"{item.key}\n" for item in items).encode())
            file.flush()
            yield file.name

    def _environment_of(self, items: Sequence[Item]) -> dict[str, str]:
        known = {"ROWLOCK_LIST": items[0].list, "ROWLOCK_CLAIM": items[0].token or ""}
        if not self._template.batch:
            [item] = items
            values = (item.key, str(item.attempts + 1), item.raw_data or "null")
            known.update(zip(_ITEM_VARIABLES, values, strict=True))
        if (traceparent := tracing.outgoing_traceparent(items)) is not None:
            known["TRACEPARENT"] = traceparent
        return {**self._environment, **known}


def _is_too_long(outcome: Outcome) -> bool:
    return isinstance(outcome, Fail) and outcome.kind == TOO_LONG


def _status_text(status: int) -> str:
    if status >= 0:
        return _STATUS_TEXTS.get(status, f"exit status {status}")
    names = {each.value: each.name for each in signal.Signals}
    return f"killed by signal {-status}" + (f" ({names[-status]})" if -status in names else "")


def _not_run(error: OSError, program: str) -> Outcome:
    message = f"{program!r} cannot be run: {(error.strerror or 'no reason given').lower()}"
    if error.errno in _SCARCE:
        return Retry(message, after=SCARCITY_RETRY_SECONDS, counted=False, kind="scarcity")
    if error.errno == errno.E2BIG:
        return Fail(f"{message}; give fewer keys at once, or less data", kind=TOO_LONG)
    return Retry(message, kind=f"exit {NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE}")
