"""`rowlock run`: the handlers of a Python program."""

import importlib
import os
import sys
import traceback
from pathlib import Path

import click

from rowlock.cli.invocation import Invocation, command
from rowlock.cli.logs import log_option, show_logs
from rowlock.cli.reloading import Reloading
from rowlock.cli.screen import Screen
from rowlock.cli.stopping import Stopping
from rowlock.config import ENVIRONMENT
from rowlock.errors import Invalid
from rowlock.names import closest
from rowlock.worker import Worker


@command("run")
@click.argument("place", metavar="MODULE:WORKER")
@click.option("--reload", "reloads", is_flag=True, help="Begin anew when a .py file below the current folder changes.")
@log_option
@click.pass_obj
def run(invocation: Invocation, /, *, place: str, reloads: bool, log_format: str) -> int:
    """Run the handlers of a worker of yours.

    The module is imported from the current folder; `Engine()` in it uses the database that is configured here,
    `Client()` the server. Goes on until it is told to stop: Ctrl-C once lets running handlers finish, twice stops now.
    """
    values = invocation.values()
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise Invalid(f"{place!r} is not MODULE:WORKER", "write it like: rowlock run app:worker")
    for each in ("database", "server", "token"):
        if each in values:
            os.environ[ENVIRONMENT[each]] = values[each].value
    os.environ["ROWLOCK_LISTEN_URL"] = invocation.listen_url() or ""
    os.environ["ROWLOCK_ALLOW_HOSTS"] = " ".join(invocation.allowed_hosts())
    screen = Screen(quiet=invocation.quiet)
    if reloads:
        return Reloading(sys.argv, Path.cwd(), say=screen.say).run()
    show_logs(invocation, form=log_format, write=screen.write)
    worker = _worker(module, name)
    screen.say(f"working with {place}; Ctrl-C stops")

    def stop(now: bool) -> None:  # noqa: FBT001
        if not now:
            screen.say("stopping: what runs finishes or goes back (Ctrl-C again stops now)")
        worker.stop(now=now)

    with Stopping(stop) as stopping:
        worker.run(signals=False)
    return stopping.status or 0


def _worker(module: str, name: str) -> Worker:
    sys.path.insert(0, str(Path.cwd()))
    found = _imported(module)
    for part in name.split("."):
        if not hasattr(found, part):
            near = closest(part, vars(found))
            hint = f"did you mean {near!r}?" if near else "name the variable that holds your Worker"
            raise Invalid(f"{module!r} has no {part!r}", hint)
        found = getattr(found, part)
    if not isinstance(found, Worker):
        raise Invalid(f"{module}:{name} is {type(found).__name__}, not a Worker", "name the variable that holds it")
    return found


def _imported(module: str) -> object:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise Invalid(f"there is no module {module!r} here", "run it from the folder that holds it") from None
        raise Invalid(f"{module!r} needs a module {error.name!r}, which is not installed", _where(error)) from None
    except Exception as error:
        raise Invalid(
            f"{module!r} cannot be imported: {type(error).__name__}: {error}".splitlines()[0], _where(error)
        ) from None


def _where(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"in {error.filename}, line {error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    return f"in {frames[-1].filename}, line {frames[-1].lineno}" if len(frames) > 1 else ""
