"""The program `rowlock`: the table of its commands, whose modules are imported when they run."""

from importlib import import_module

import click

import rowlock
from rowlock.cli.invocation import HELP_OPTIONS, SHARED_OPTIONS
from rowlock.names import closest

FAMILIES: dict[str, dict[str, str]] = {
    "Add": {"add": "items"},
    "Work": {"work": "work", "run": "work", "claim": "claims", "ack": "claims", "sessions": "claims"},
    "Recurring": {"schedule": "schedules"},
    "Look": {"status": "listing", "ls": "listing", "show": "items", "split": "listing", "failures": "listing"},
    "Items": {"save": "items", "done": "bulk", "increment": "bulk", "retry": "bulk", "abandon": "bulk"},
    "Lists": {
        "settings": "lists",
        "gate": "lists",
        "seal": "lists",
        "complete": "lists",
        "reopen": "lists",
        "pause": "lists",
        "resume": "lists",
        "rename": "lists",
        "drop": "lists",
    },
    "Topics": {
        "topic": "topics",
        "subscribe": "topics",
        "unsubscribe": "topics",
        "publish": "topics",
        "notifications": "topics",
    },
    "Numbers": {"counter": "counters"},
    "Service": {"up": "serve", "serve": "serve", "openapi": "serve"},
    "Access": {"token": "tokens", "audit": "tokens"},
    "Database": {"migrate": "admin", "upkeep": "admin", "doctor": "admin"},
    "Program": {"config": "admin", "completion": "admin"},
}
COMMANDS = {name: module for family in FAMILIES.values() for name, module in family.items()}

INTRODUCTION = """\
rowlock {version} — durable work on the database you already have

  Start     rowlock up                                    the service at 127.0.0.1:8642, no setup
  Add       ls *.jpg | rowlock add thumbs                 one item per line, into ./rowlock.db
  Work      rowlock work thumbs -- convert {{}} small/{{}}    like xargs, but it remembers
  Look      rowlock status                                every list; rowlock ls thumbs for its items
  Check     rowlock doctor                                can this database keep rowlock's promises?

  All commands  rowlock --help     One of them  rowlock COMMAND --help
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
        found: click.Command = getattr(import_module(f"rowlock.cli.{COMMANDS[name]}"), name)
        return found

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
        for family, commands in FAMILIES.items():
            found = [(name, self.get_command(ctx, name)) for name in commands]
            with formatter.section(family):
                formatter.write_dl(
                    [(f"{name:<10}", command.get_short_help_str(64)) for name, command in found if command]
                )


@click.group(cls=Program, invoke_without_command=True, context_settings=HELP_OPTIONS)
@click.version_option(rowlock.__version__, "-V", "--version", message="rowlock %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Durable work on the database you already have: lists of items, each to be done once."""
    if context.invoked_subcommand is None:
        click.echo(INTRODUCTION.format(version=rowlock.__version__), nl=False)


program.params.extend(SHARED_OPTIONS)
