"""What holds for one run of a command: its database, how much to say, and the options that every command takes."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rowlock import audit, config
from rowlock.db import Address, parse
from rowlock.durations import milliseconds
from rowlock.engine import Engine
from rowlock.errors import NeedsDatabase, NotFound, RowlockError
from rowlock.names import split_names

if TYPE_CHECKING:
    from rowlock.client import Client

HELP = {"help_option_names": ["-h", "--help"]}


class Invocation:
    """One run of the program: what the options that every command takes have said."""

    def __init__(self) -> None:
        self.database: str | None = None
        self.server: str | None = None
        self.quiet = False
        self.verbose = False
        self.no_color = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"

    def values(self, **flags: str | None) -> dict[str, config.Value]:
        """All that is configured, each with who said so; also by flags of a single command."""
        return config.load({"database": self.database, "server": self.server, **flags})

    def allowed_hosts(self, given: Sequence[str] = ()) -> list[str]:
        """Private hosts that may be sent to: those given, else those that are configured."""
        value = self.values().get("allow_hosts")
        return list(given) or split_names(value.value if value else "")

    def open(self, *, make: bool = False) -> "Engine | Client":
        """Where the work is: a client of the server, or the engine on the database.

        Only with `make` may that be a file that does not exist yet.
        """
        values = self.values()
        value = config.place(values)
        if value.name == "database":
            return self._engine(value, make=make)
        from rowlock.client import Client  # only who asks a server needs it

        token = values.get("token")
        client = Client(value.value, token=token.value if token else None)
        if self.verbose:
            self.say(f"server {client.server} ({value.origin})")
        return client

    def database_itself(self, why: str = "this works on the database itself") -> config.Value:
        """The database's address, and who said so; refused, for that reason, where a server was named instead."""
        values = self.values()
        value = config.place(values)
        if value.name == "server":
            what = f"{click.get_current_context().command_path} cannot be asked of a server: {why}"
            raise NeedsDatabase(what, "run it where the database is, and name that with -d")
        return value

    def open_database(self, *, make: bool = False, why: str = "this works on the database itself") -> Engine:
        """The engine on the database; refused, for that reason, where a server was named instead."""
        return self._engine(self.database_itself(why), make=make)

    def _engine(self, value: config.Value, *, make: bool) -> Engine:
        address = parse(value.value)
        if self.verbose:
            self.say(f"database {address.shown} ({value.origin})")
        if not make and is_absent(address):
            raise NotFound(f"there is nothing yet: {address.shown} does not exist", "begin with: rowlock add LIST KEY")
        return Engine(value.value, listen_url=self.listen_url())

    def listen_url(self) -> str | None:
        """The address to listen at for notifications, if one is configured for this database."""
        return config.listen_url(self.values())

    def acting(self, verb: str | None = None, *, wanted: bool = True) -> AbstractContextManager[None]:
        """A block whose writes are recorded as this user's; `verb` says what they are parts of."""
        if not wanted:
            return nullcontext()
        return audit.acting(_user(), verb=verb, keep=self.audit_keep())

    def audit_keep(self) -> str:
        """How long what is recorded is kept."""
        keep = self.values()["audit_keep"].value
        milliseconds(keep)
        return keep

    def say(self, words: str) -> None:
        """Words for a person, on stderr; nothing when asked to be quiet."""
        if not self.quiet:
            click.echo(words, err=True)


def _user() -> str:
    """Who runs the program, and where: `ann@example`."""
    import getpass  # only who changes something as a whole is recorded
    import platform

    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        name = str(os.getuid())
    return f"{name}@{platform.node() or 'localhost'}"


def is_absent(address: Address) -> bool:
    """Whether the database is a file that has not been made."""
    return address.dialect == "sqlite" and not Path(address.target).exists()


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    # The same option may stand before and after the command's name: the one that says something counts.
    if (value or value == "") and parameter.name:
        setattr(context.ensure_object(Invocation), parameter.name, value)


def _shared(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, callback=_keep, expose_value=False, **settings)


SHARED_OPTIONS = (
    _shared("-d", "--database", metavar="URL", help="A file's path, sqlite:///… or postgresql://…"),
    _shared("--server", metavar="URL", help="Ask this server, http://… or https://…, instead of a database."),
    _shared("-q", "--quiet", is_flag=True, help="Say nothing but errors and what was asked for."),
    _shared("-v", "--verbose", is_flag=True, help="Say more: the database or server, and tracebacks of bugs."),
    _shared("--no-color", is_flag=True, help="No colours; NO_COLOR does the same."),
)


class Command(click.Command):
    """A command that also takes, after its name, the options that every command takes."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params.extend(SHARED_OPTIONS)


def command(name: str) -> Callable[[Callable[..., Any]], Command]:
    """Make a function the command of that name."""
    return click.command(name, cls=Command, context_settings=HELP)


def _names_of_lists(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of lists that begin so; none if the database does not answer."""
    try:
        with context.ensure_object(Invocation).open() as engine:
            return [info.name for info in engine.lists() if info.name.startswith(incomplete)]
    except RowlockError:  # completion has nobody to tell
        return []


def list_argument(*, required: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The LIST that a command works on; the shell completes it from the database."""
    metavar = "LIST" if required else "[LIST]"
    return click.argument("name", metavar=metavar, required=required, shell_complete=_names_of_lists)


version_option = click.option("--version", type=int, metavar="N", help="Only if it is at this version still.")


def on_terminal() -> bool:
    """Whether a person reads the output."""
    return sys.stdout.isatty()
