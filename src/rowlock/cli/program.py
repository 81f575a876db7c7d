"""The program `rowlock`: the table of its commands, whose modules are imported when they run; and how it ends."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import TextIO

import click

import rowlock
from rowlock.cli.invocation import BUG, INTERRUPTED, OUTPUT_LOST, PIPE_CLOSED, SHARED_OPTIONS, Invocation, summary
from rowlock.cli.output import visible
from rowlock.errors import RowlockError, TokenRefused
from rowlock.names import closest

# The hint of a server is about a header, which a user of the command line cannot set.
TOKEN_HINT = "set ROWLOCK_TOKEN to a token made there by `rowlock token create`"  # noqa: S105
COMPLETION_VARIABLE = "_ROWLOCK_COMPLETE"

FAMILIES = {
    "Add": {"items": "add"},
    "Work": {"work": "work", "run": "run", "claims": "claim ack sessions"},
    "Recurring": {"schedules": "schedule"},
    "Look": {"inspect": "status ls split failures results throughput", "items": "show"},
    "Items": {"items": "save done forget increment retry abandon"},
    "Lists": {"lists": "settings gate seal complete reopen pause resume rename drop", "transfers": "export import"},
    "Topics": {"topics": "topic subscribe unsubscribe publish notifications"},
    "Numbers": {"counters": "counter"},
    "Service": {"serve": "up serve openapi mcp"},
    "Access": {"admin": "token audit"},
    "Database": {"admin": "migrate upkeep doctor"},
    "Program": {"admin": "config completion", "help": "help"},
}
"""The commands by family, in the order of the help text; each under the name of its module."""
COMMANDS = {name: module for family in FAMILIES.values() for module, names in family.items() for name in names.split()}

INTRODUCTION = """\
rowlock {version} — durable work on the database you already have

  Start     rowlock up                                    the service at 127.0.0.1:8642, no setup
  Add       ls *.jpg | rowlock add thumbs                 one item per line, into ./rowlock.db
  Work      rowlock work thumbs -- convert {{}} small/{{}}    like xargs, but it remembers
  Look      rowlock status                                every list; rowlock ls thumbs for its items
  Check     rowlock doctor                                can this database keep rowlock's promises?

  All commands  rowlock --help     One of them  rowlock COMMAND --help     Topics  rowlock help
"""


class Program(click.Group):
    """A group of commands whose modules are imported only when they run."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        """Return the command of that name, if there is one."""
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(
            import_module(f"rowlock.cli.{COMMANDS[name]}"), f"{name}_" if iskeyword(name) else name
        )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; a usage error suggests the closest name."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            near = closest(args[0], COMMANDS)
            hint = f"; did you mean {near!r}?" if near else ""
            ctx.fail(f"unknown command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by family, each with its summary."""
        for family, homes in FAMILIES.items():
            names = " ".join(homes.values()).split()
            rows = [(f"{name:<10}", command) for name in names if (command := self.get_command(ctx, name))]
            with formatter.section(family):
                formatter.write_dl([(name, summary(command)) for name, command in rows])
        formatter.write("\nEach command has examples: rowlock COMMAND --help.\n")
        formatter.write("More: rowlock help placeholders, environment, exit-codes, durations, databases, output.\n")


@click.group(
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(rowlock.__version__, "-V", "--version", message="rowlock %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Durable work on the database you already have: lists of items, each to be done once."""
    if context.invoked_subcommand is None:
        click.echo(INTRODUCTION.format(version=rowlock.__version__), nl=False)


program.params.extend(SHARED_OPTIONS)


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; an error is one sentence and a hint, a traceback only with -v."""
    invocation = Invocation()
    try:
        _write_utf8()
        if COMPLETION_VARIABLE in os.environ:
            program.main(list(arguments), "rowlock", COMPLETION_VARIABLE)
        return _invoke(arguments, invocation)
    except RowlockError as error:
        hint = TOKEN_HINT if isinstance(error, TokenRefused) else error.hint
        return _print_error(error.what, hint, error.exit_status)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        return _print_usage_error(error)
    except (KeyboardInterrupt, click.Abort):
        return _print_error("interrupted", "", INTERRUPTED)
    except BrokenPipeError:
        return _discard_stdout()
    except OSError as error:
        _discard_stdout()
        reason = (error.strerror or "no reason given").lower()
        return _print_error(f"reading or writing failed: {reason}", "", OUTPUT_LOST)
    except Exception as error:
        return _print_bug(error, invocation)


def _invoke(arguments: Sequence[str], invocation: Invocation) -> int:
    try:
        with program.make_context("rowlock", list(arguments), obj=invocation) as context:
            status = program.invoke(context)
    except click.exceptions.Exit as done:
        status = done.exit_code
    sys.stdout.flush()
    return status if isinstance(status, int) else 0


def _write_utf8() -> None:
    # Keys are UTF-8 everywhere; a terminal with another encoding shows the characters it lacks escaped.
    sys.stdout, sys.stderr = sys.stdout or _null_stream(), sys.stderr or _null_stream()
    for stream in (sys.stdout, sys.stderr):
        encoding = stream.encoding if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]


def _null_stream() -> TextIO:
    """Open a stream in place of one that the caller has closed."""
    return Path(os.devnull).open("w")


def _print_error(what: str, hint: str, status: int) -> int:
    print(f"rowlock: {visible(what)}", file=sys.stderr)  # noqa: T201
    for line in hint.splitlines():
        print(f"  {visible(line)}", file=sys.stderr)  # noqa: T201
    return status


def _print_usage_error(error: click.ClickException) -> int:
    if isinstance(error, click.NoSuchOption):
        # click also suggests names that have little in common.
        near = closest(error.option_name.lstrip("-"), [each.lstrip("-") for each in error.possibilities or ()])
        error = click.NoSuchOption(error.option_name, possibilities=[f"--{near}"] if near else None, ctx=error.ctx)
    message = " ".join(error.format_message().split()).rstrip(".")  # click lists choices one to a line
    context = getattr(error, "ctx", None)
    hint = f"see: {context.command_path} --help" if context else ""
    kind = getattr(getattr(error, "param", None), "type", None)
    if isinstance(kind, click.IntRange) and kind.max is not None:
        hint = f"give a whole number from {kind.min} to {kind.max}"
    return _print_error(f"{message[:1].lower()}{message[1:]}", hint, error.exit_code)


def _discard_stdout() -> int:
    # The reader of the pipe has gone; the interpreter must not complain when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _print_bug(error: Exception, invocation: Invocation) -> int:
    if invocation.verbose:
        import traceback  # imported only to report a bug

        traceback.print_exception(error)
    hint = "this is a bug in rowlock; please report it" + ("" if invocation.verbose else ", with what -v prints")
    return _print_error(f"something unexpected went wrong ({type(error).__name__})", hint, BUG)
