"""Ways to work a list from the shell: a command for each item, or a request to a processor."""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import click
from click.core import ParameterSource

from rowlock.errors import Invalid
from rowlock.model import ListInfo, Processor
from rowlock.processors import secrets_in
from rowlock.worker import Worker
from rowlock.worker.exec.commands import CommandHandler, Trouble, check_program
from rowlock.worker.exec.output_capture import OutputCapture
from rowlock.worker.exec.templates import CommandTemplate

Show = Callable[[IO[bytes], IO[bytes]], None]
OF_COMMANDS = ("batch", "keep_output", "later", "shell")
OF_REQUESTS = ("allow_host", "header", "secret_env")


class ItemRunner(Protocol):
    """How items are worked."""

    at_once: int
    """How many at a time, unless somebody says otherwise."""

    def register(self, worker: Worker, name: str) -> None:
        """Make it the worker's way with a list."""

    @property
    def running(self) -> int:
        """How many items are being worked on now."""

    def stop(self, *, now: bool) -> None:
        """Be told that the worker stops."""

    def close(self) -> None:
        """End what still runs."""


class CommandRunner:
    """A command for each item, or for each batch of them."""

    def __init__(self, template: CommandTemplate, options: dict[str, Any], *, show: Show, trouble: Trouble) -> None:
        self.at_once = len(os.sched_getaffinity(0))
        self._handles_batches = template.batch
        self._terms = {term: options[term] for term in ("attempts", "backoff", "batch")}
        self._commands = CommandHandler(
            template,
            show=show,
            trouble=trouble,
            timeout=options["timeout"],
            later=options["later"],
            outputs=OutputCapture(_folder(options["keep_output"])),
        )

    def register(self, worker: Worker, name: str) -> None:
        """Run the command for the items of a list."""
        worker.on(name, self._commands.handle_batch if self._handles_batches else self._commands.handle, **self._terms)

    @property
    def running(self) -> int:
        """How many commands run now."""
        return self._commands.running

    def stop(self, *, now: bool) -> None:
        """Expect what a Ctrl-C does to commands; and end them, if it must be now."""
        self._commands.expect_interrupts()
        if now:
            self._commands.stop()

    def close(self) -> None:
        """End all commands that still run."""
        self._commands.close()


class RequestRunner:
    """A request to a processor for each item: the one given, or the list's own."""

    at_once = 16

    def __init__(self, processor: Processor | None, options: dict[str, Any], *, allow: Sequence[str]) -> None:
        self._processor = processor
        self._secrets = [secret for name in options["secret_env"] for secret in secrets_in(name, os.environ)]
        self._terms = {"attempts": options["attempts"], "backoff": options["backoff"], "allow": allow}
        self._lock = threading.Lock()
        self.running = 0

    def register(self, worker: Worker, name: str) -> None:
        """Send the items of a list."""
        worker.process(name, self._processor, secrets=self._secrets, **self._terms)
        worker.before(lambda _: self._count(1))
        worker.after(lambda *_: self._count(-1))

    def _count(self, change: int) -> None:
        with self._lock:
            self.running += change

    def stop(self, *, now: bool) -> None:
        """Nothing: a request that is under way is answered, or given up with its thread."""

    def close(self) -> None:
        """Nothing: the worker closes its connections."""


def check(words: Sequence[str], options: dict[str, Any]) -> None:
    """Refuse what does not go together, and a command that could not run, before anything is opened."""
    if words and options["http"]:
        raise Invalid("both a command and --http were given", "give one of them")
    given = [name for name in (OF_REQUESTS if words else OF_COMMANDS) if _was_given(name)]
    if given:
        goes_with = "--http" if words else "a command"
        raise Invalid(f"--{given[0].replace('_', '-')} goes with {goes_with}", "leave it out")
    if words:
        check_program(_template(words, options))
    elif options["http"]:
        _processor(options)


def chosen(
    info: ListInfo, words: Sequence[str], *, options: dict[str, Any], show: Show, trouble: Trouble, allow: Sequence[str]
) -> ItemRunner:
    """The way that was asked for: a command, a request, or what the list's settings say."""
    if words:
        return CommandRunner(_template(words, options), options, show=show, trouble=trouble)
    if options["http"]:
        return RequestRunner(_processor(options), options, allow=allow)
    if info.settings.processor is None:
        raise Invalid(
            "no command was given, and the list has no processor",
            "put a command after --, as in: rowlock work LIST -- curl -fsSO {}",
        )
    given = [name for name in ("header", "secret_env", "timeout") if _was_given(name)]
    if given:
        raise Invalid(
            f"--{given[0].replace('_', '-')} goes with --http", "the list's settings say it for its processor"
        )
    from rowlock.worker.http_processor import check as check_processor  # HTTP is heavy, and only who sends needs it

    check_processor(info.settings.processor, allow)
    return RequestRunner(None, options, allow=allow)


def _was_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is not None and source is not ParameterSource.DEFAULT


def _template(words: Sequence[str], options: dict[str, Any]) -> CommandTemplate:
    return CommandTemplate(tuple(words), shell=options["shell"], batch=options["batch"] is not None)


def _processor(options: dict[str, Any]) -> Processor:
    headers = dict(_header(text) for text in options["header"])
    return Processor(options["http"], timeout=options["timeout"] or "30s", headers=headers)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise Invalid(f"the header {name!r} has no value", "write it like 'x-team: blue'")
    return name.strip(), value.strip()


def _folder(path: Path | None) -> Path | None:
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Invalid(f"outputs cannot be kept in {str(path)!r}: {(error.strerror or '').lower()}") from None
    return path
