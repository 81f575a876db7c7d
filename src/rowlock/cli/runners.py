"""Runners of `rowlock work`: a command for each item, or an HTTP request."""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import click
from click.core import ParameterSource

from rowlock.errors import Invalid
from rowlock.model import ListInfo, Processor
from rowlock.settings import secrets_in
from rowlock.worker import Worker
from rowlock.worker.exec.commands import CommandHandler, OutputCapture, Trouble, check_program
from rowlock.worker.exec.templates import CommandTemplate

ShowOutput = Callable[[IO[bytes], IO[bytes]], None]

COMMAND_OPTIONS = ("batch", "keep_output", "later", "shell")
REQUEST_OPTIONS = ("allow_host", "header", "secret_env")


class ItemRunner(Protocol):
    """What runs the items of a list."""

    default_concurrency: int

    def register(self, worker: Worker, name: str) -> None:
        """Register with a worker as the handler of a list."""

    @property
    def running(self) -> int:
        """Return how many items are running."""

    def stop(self, *, now: bool) -> None:
        """Prepare for the end of the worker; with `now`, end what runs."""

    def close(self) -> None:
        """End everything that still runs."""


class CommandRunner:
    """A command for each item, or for each batch of items."""

    def __init__(
        self, template: CommandTemplate, options: dict[str, Any], *, show: ShowOutput, on_error: Trouble
    ) -> None:
        self.default_concurrency = len(os.sched_getaffinity(0))
        self._handles_batches = template.batch
        self._handler_options = {name: options[name] for name in ("attempts", "backoff", "batch")}
        self._commands = CommandHandler(
            template,
            show=show,
            trouble=on_error,
            timeout=options["timeout"],
            later=options["later"],
            outputs=OutputCapture(_created_folder(options["keep_output"])),
        )

    def register(self, worker: Worker, name: str) -> None:
        """Run the command for the items of a list."""
        handler = self._commands.handle_batch if self._handles_batches else self._commands.handle
        worker.on(name, handler, **self._handler_options)

    @property
    def running(self) -> int:
        """Return how many commands are running."""
        return self._commands.running

    def stop(self, *, now: bool) -> None:
        """Expect that Ctrl-C ends commands too; with `now`, end them."""
        self._commands.expect_interrupts()
        if now:
            self._commands.stop()

    def close(self) -> None:
        """End all commands that still run."""
        self._commands.close()


class RequestRunner:
    """A request for each item to a processor: the given one, or that of the list's settings."""

    default_concurrency = 16

    def __init__(self, processor: Processor | None, options: dict[str, Any], *, allow: Sequence[str]) -> None:
        self._processor = processor
        self._secrets = [secret for name in options["secret_env"] for secret in secrets_in(name, os.environ)]
        self._handler_options = {"attempts": options["attempts"], "backoff": options["backoff"], "allow": allow}
        self._lock = threading.Lock()
        self.running = 0

    def register(self, worker: Worker, name: str) -> None:
        """Send the items of a list."""
        worker.process(name, self._processor, secrets=self._secrets, **self._handler_options)
        worker.before(lambda _: self._count(1))
        worker.after(lambda *_: self._count(-1))

    def _count(self, change: int) -> None:
        with self._lock:
            self.running += change

    def stop(self, *, now: bool) -> None:
        """Do nothing: a request in flight is answered, or given up with its thread."""

    def close(self) -> None:
        """Do nothing: the worker closes its connections."""


def check(words: Sequence[str], options: dict[str, Any]) -> None:
    """Refuse options that exclude each other, and a command that cannot run, before a database is opened."""
    if words and options["http"]:
        raise Invalid("a command cannot be combined with --http", "give one of them")
    given = [name for name in (REQUEST_OPTIONS if words else COMMAND_OPTIONS) if _was_given(name)]
    if given:
        raise Invalid(f"{_flag(given[0])} needs {'--http' if words else 'a command'}", "leave it out")
    if words:
        check_program(_template(words, options))
    elif options["http"]:
        _processor(options)


def choose(
    info: ListInfo,
    words: Sequence[str],
    *,
    options: dict[str, Any],
    show: ShowOutput,
    on_error: Trouble,
    allow: Sequence[str],
) -> ItemRunner:
    """Return the runner for a command, for --http, or for the processor of the list's settings."""
    if words:
        return CommandRunner(_template(words, options), options, show=show, on_error=on_error)
    if options["http"]:
        return RequestRunner(_processor(options), options, allow=allow)
    if info.settings.processor is None:
        raise Invalid(
            f"work needs a command, --http, or a processor in the settings of {info.name!r}",
            "put a command after --, as in: rowlock work LIST -- curl -fsSO {}",
        )
    given = [name for name in ("header", "secret_env", "timeout") if _was_given(name)]
    if given:
        raise Invalid(f"{_flag(given[0])} needs --http", "set it in the list's settings for its processor")
    from rowlock.worker.http_processor import check as check_processor  # heavy: imported only to send requests

    check_processor(info.settings.processor, allow)
    return RequestRunner(None, options, allow=allow)


def _was_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is not None and source is not ParameterSource.DEFAULT


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _template(words: Sequence[str], options: dict[str, Any]) -> CommandTemplate:
    return CommandTemplate(tuple(words), shell=options["shell"], batch=options["batch"] is not None)


def _processor(options: dict[str, Any]) -> Processor:
    headers = dict(_header(text) for text in options["header"])
    return Processor(options["http"], timeout=options["timeout"] or "30s", headers=headers)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise Invalid(f"a header must be NAME: VALUE, got {name!r}", "write it like 'x-team: blue'")
    return name.strip(), value.strip()


def _created_folder(path: Path | None) -> Path | None:
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or "no reason given").lower()
            raise Invalid(f"--keep-output {str(path)!r} cannot be created: {reason}") from None
    return path
