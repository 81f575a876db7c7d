"""One run of the program: its database or server, the options of every command, and the decorators of commands."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rowlock import audit, config
from rowlock.db import parse
from rowlock.durations import milliseconds
from rowlock.engine import Engine
from rowlock.errors import NeedsDatabase, NotFound, RowlockError
from rowlock.names import split_names

if TYPE_CHECKING:
    from rowlock.client import Client

T = TypeVar("T")

ROWS_PER_PAGE = 1_000
COMMAND_HELP = Path(__file__).with_name("command_help.txt")
"""What the help of each command ends with, below a line `== rowlock COMMAND`: its examples, and more."""

# Exit codes; those of RowlockErrors are their `exit_status`.
AT_RISK = 1
SOME_FAILED = 1
WRONG_USAGE = 2
OUT_OF_REACH = 5
NOTHING_TO_DO = 6
BUG = 70
OUTPUT_LOST = 74
INTERRUPTED = 130
PIPE_CLOSED = 141


class Invocation:
    """One run of the program, with the values of the options that every command takes."""

    def __init__(self) -> None:
        self.database: str | None = None
        self.server: str | None = None
        self.quiet = False
        self.verbose = False
        self.as_json = False
        self.no_color = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"

    def values(self, **flags: str | None) -> dict[str, config.ConfigValue]:
        """Return the configuration, each value with its origin; `flags` are options of a single command."""
        return config.load({"database": self.database, "server": self.server, **flags})

    def allowed_hosts(self, hosts: Sequence[str] = ()) -> list[str]:
        """Return the private hosts that requests may go to: `hosts`, or if there are none those configured."""
        value = self.values().get("allow_hosts")
        return list(hosts) or split_names(value.value if value else "")

    def open(self, *, create: bool = False) -> "Engine | Client":
        """Open the engine on the configured database, or a client of the configured server.

        A database file that does not exist is an error unless `create` is set.
        """
        values = self.values()
        value = config.target(values)
        if value.name == "database":
            return self._engine(value, create=create)
        from rowlock.client import Client  # imported only when a server is used

        token = values.get("token")
        client = Client(value.value, token=token.value if token else None)
        if self.verbose:
            self.say(f"server {client.server} ({value.origin})")
        return client

    def database_value(self, why: str = "it works on the database itself") -> config.ConfigValue:
        """Return the configured database; NeedsDatabase with the reason `why` if a server is configured instead."""
        value = config.target(self.values())
        if value.name == "server":
            command_name = click.get_current_context().command_path
            what = f"{command_name} needs a database, got the server {value.shown}: {why}"
            raise NeedsDatabase(what, "run it where the database is, and name that with -d")
        return value

    def open_database(self, *, create: bool = False, why: str = "it works on the database itself") -> Engine:
        """Open the engine on the database; NeedsDatabase with the reason `why` if a server is configured instead."""
        return self._engine(self.database_value(why), create=create)

    def _engine(self, value: config.ConfigValue, *, create: bool) -> Engine:
        address = parse(value.value)
        if self.verbose:
            self.say(f"database {address.shown} ({value.origin})")
        if not create and address.is_missing_file:
            folder = Path(address.target).parent
            hint = f"begin with: rowlock {address.option}add LIST KEY"
            if not folder.is_dir():
                hint = f"the folder {folder} is missing too: create it, then {hint}"
            raise NotFound(f"the database {address.shown} does not exist", hint)
        return Engine(value.value, listen_url=self.listen_url())

    def listen_url(self) -> str | None:
        """Return the address to listen at for notifications, if one is configured for this database."""
        return config.listen_url(self.values())

    def acting(self, verb: str | None = None, *, wanted: bool = True) -> AbstractContextManager[None]:
        """Record the writes of a block in the audit as this user's; `verb` names the operation they belong to."""
        if not wanted:
            return nullcontext()
        return audit.acting(_user(), verb=verb, keep=self.audit_keep())

    def trace_url(self) -> str:
        """Return the configured address of traces in their viewer; empty if none is configured."""
        value = self.values().get("trace_url")
        return value.value if value else ""

    def audit_keep(self) -> str:
        """Return how long audit records are kept."""
        keep = self.values()["audit_keep"].value
        milliseconds(keep)
        return keep

    def say(self, sentence: str) -> None:
        """Write a sentence for a person to stderr, unless --quiet was given."""
        if not self.quiet:
            click.echo(sentence, err=True)


def _user() -> str:
    """Return who runs the program, and where: `ann@example`."""
    import getpass  # imported only when a change is recorded
    import platform

    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        name = str(os.getuid())
    return f"{name}@{platform.node() or 'localhost'}"


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    # An option may stand before and after the command's name: an absent one must not overwrite the other.
    if (value or value == "") and parameter.name:
        setattr(context.ensure_object(Invocation), parameter.name, value)


def _shared(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, callback=_keep, expose_value=False, **settings)


SHARED_OPTIONS = (
    _shared(
        "-d",
        "--database",
        metavar="URL",
        show_default="rowlock.db",
        help="A file's path, sqlite:///… or postgresql://…",
    ),
    _shared("--server", metavar="URL", help="Use this server, http://… or https://…, instead of a database."),
    _shared("-q", "--quiet", is_flag=True, help="Print only errors and requested data."),
    _shared("-v", "--verbose", is_flag=True, help="Print more: the database or server, and tracebacks of bugs."),
    _shared("--no-color", is_flag=True, help="Print no colours, as with NO_COLOR."),
)


class Command(click.Command):
    """A command whose function gets the invocation first; it accepts the shared options after its name too."""

    def __init__(self, name: str, *, callback: Callable[..., Any], **settings: Any) -> None:
        super().__init__(name, callback=click.pass_obj(callback), **settings)
        for each in self.params:
            if isinstance(each, click.Option) and each.default == "":
                each.show_default = False  # it would be shown as two quotes
        self.params.extend(SHARED_OPTIONS)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they stand in their file, not wrapped."""
        if text := command_help().get(ctx.command_path):
            formatter.write(f"\n{text}\n")


class CommandGroup(click.Group):
    """A group whose commands are made by `@group.command(name)`."""

    command_class = Command

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with its whole summary."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(command)) for name, command in sorted(self.commands.items())])


@cache
def command_help() -> dict[str, str]:
    """Return what the help of each command ends with, by the command's path: `rowlock schedule add`."""
    blocks = f"\n{COMMAND_HELP.read_text()}".split("\n== ")[1:]
    return {path.strip(): text.strip("\n") for path, _, text in (block.partition("\n") for block in blocks)}


def summary(command: click.Command) -> str:
    """Return the first sentence of a command's help text, whole."""
    return " ".join(command.get_short_help_str(limit=1_000).split())


def long_options(command: click.Command) -> set[str]:
    """Return the names of the options of a command that begin with two dashes."""
    options = (each for each in command.params if isinstance(each, click.Option))
    return {name for each in options for name in each.opts if name.startswith("--")}


def command(name: str) -> Callable[[Callable[..., Any]], Command]:
    """Make a function the command of that name."""
    return click.command(name, cls=Command)


def group(name: str) -> Callable[[Callable[..., Any]], CommandGroup]:
    """Make a function the group of that name; its docstring is the help text."""
    return click.group(name, cls=CommandGroup)


def show_help() -> int:
    """Print the help of the command to stderr, and return the exit code of wrong usage."""
    click.echo(click.get_current_context().get_help(), err=True)
    return WRONG_USAGE


def every(page: Callable[..., list[T]], *, by: str = "name", after: Any = "") -> Iterator[T]:
    """Yield the entries of all pages; `by` is the attribute that the next page starts after."""
    while entries := page(after=after, limit=ROWS_PER_PAGE):
        yield from entries
        after = getattr(entries[-1], by)


def named_argument(
    parameter: str, metavar: str, *, names: Callable[["Engine | Client"], Sequence[Any]], required: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an argument that the shell completes with the names of what `names` returns."""

    def _complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        try:
            with context.ensure_object(Invocation).open() as engine:
                return [each.name for each in names(engine) if each.name.startswith(incomplete)]
        except RowlockError:  # a completion has nowhere to print an error
            return []

    usage = metavar if required else f"[{metavar}]"
    return click.argument(parameter, metavar=usage, required=required, shell_complete=_complete)


def list_argument(*, required: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the argument LIST, passed to the command as `name`."""
    return named_argument("name", "LIST", names=lambda engine: engine.lists(), required=required)


json_option = click.option(
    "--json", "as_json", is_flag=True, callback=_keep, expose_value=False, help="Print one JSON document."
)
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
version_option = click.option("--version", type=int, metavar="N", help="Only if its version is still N.")
