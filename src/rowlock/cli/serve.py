"""`rowlock serve`, `up` and `openapi`: the HTTP service and its applications."""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import click
import msgspec

from rowlock import config
from rowlock.cli import output
from rowlock.cli.invocation import Invocation, command, is_absent
from rowlock.cli.logs import log_option, show_logs
from rowlock.db import parse
from rowlock.engine import Engine
from rowlock.errors import ExtraMissing, Invalid
from rowlock.names import closest

if TYPE_CHECKING:
    from rowlock.http.applications import Application
    from rowlock.http.service import Service
    from rowlock.worker import Worker

GROUP = "rowlock.apps"
HOST, PORT = "127.0.0.1", 8642
app_option = click.option("--app", "apps", multiple=True, metavar="NAME", help="Also serve an application; repeatable.")
app_options = click.option(
    "--app-option", "app_options", multiple=True, metavar="NAME.KEY=VALUE", help="How it is made; repeatable."
)
PATIENCE = 5.0
CONCURRENCY = 16
SELDOM = (20_000, 20, 20)
BOUNDS = {
    "connections": "At most so many connections.",
    "connections_per_address": "At most so many from one address; raise it behind a proxy.",
    "long_polls": "At most so many requests that wait for work or events; three quarters of the connections.",
    "long_polls_per_address": "At most so many of them from one address.",
    "waiting_requests": "At most so many requests that wait for the database.",
}
host_option = click.option("--host", default=HOST, show_default=True, help="The address to listen on.")
port_option = click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 is any.")


@contextmanager
def built(engine: Engine, names: Sequence[str], *, settings: Sequence[str]) -> "Iterator[dict[str, Application]]":
    """The applications of these names, made; closed when the block ends, the last first."""
    given = _settings(names, settings)
    with ExitStack() as stack:
        found: dict[str, Application] = {}
        for name in dict.fromkeys(names):
            found[name] = _build(name, engine, given[name])
            stack.callback(found[name].close)
        yield found


def _settings(names: Sequence[str], settings: Sequence[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for each in settings:
        place, equals, value = each.partition("=")
        name, dot, key = place.partition(".")
        if not (equals and dot and key.isidentifier()):
            raise Invalid(
                f"--app-option {place!r} is not NAME.KEY=VALUE", "write it like: --app-option chat.search=fts"
            )
        if name not in found:
            raise Invalid(f"--app-option {place} is for an application that is not served", f"add --app {name}")
        found[name][key] = value
    return found


def _build(name: str, engine: Engine, options: dict[str, str]) -> "Application":
    build = _builder(name)
    try:
        inspect.signature(build).bind(engine, **options)
    except TypeError:
        known = [key for key in inspect.signature(build).parameters if key != "engine"]
        what = f"the application {name!r} cannot be made with {', '.join(options) or 'no options'}"
        raise Invalid(what, f"its options are {', '.join(known)}" if known else "it has no options") from None
    application: Application = build(engine, **options)
    return application


def _builder(name: str) -> Callable[..., Any]:
    """The function that makes an application: of a package of ours, or of whoever has registered that name."""
    theirs = {each.name: each for each in entry_points(group=GROUP)}
    ours = _ours()
    build: Callable[..., Any] | None = None
    try:
        if name in ours:
            build = importlib.import_module(f"{GROUP}.{name}").build
        elif name in theirs:
            build = theirs[name].load()
    except ImportError as error:
        hint = f"run: pip install {error.name}" if error.name else "install what it needs"
        raise Invalid(f"the application {name!r} cannot be loaded: {error}".splitlines()[0], hint) from None
    if build is not None:
        return build
    known = sorted({*ours, *theirs})
    near = closest(name, known)
    every = f"there are {', '.join(known)}" if known else "none is installed"
    raise Invalid(f"there is no application {name!r}", f"did you mean {near!r}?" if near else every)


def _ours() -> list[str]:
    # Applications stand above the command line: they are found by name, never imported from here.
    return [each.name for each in pkgutil.iter_modules(importlib.import_module(GROUP).__path__) if each.ispkg]


class ServeOptions(msgspec.Struct, frozen=True):
    """What to serve, and where."""

    host: str
    port: int
    access_log: bool
    apps: tuple[str, ...] = ()
    app_options: tuple[str, ...] = ()
    work: bool | None = None
    """Whether to work too: True also for processors, None only for applications."""
    concurrency: int = CONCURRENCY
    bounds: Mapping[str, int | None] = {}
    """What the command's line says of `config.NUMBERS`."""


def bound_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The flags of the bounds that can be configured."""
    for name in reversed(config.NUMBERS):
        flag = f"--{name.replace('_', '-')}"
        function = click.option(flag, name, type=click.IntRange(1), help=BOUNDS[name])(function)
    return function


@command("up")
@host_option
@port_option
@app_option
@app_options
@click.pass_obj
def up(invocation: Invocation, /, *, host: str, port: int, apps: tuple[str, ...], app_options: tuple[str, ...]) -> int:
    """Start the service on this machine: nothing to set up.

    It listens on 127.0.0.1:8642 and keeps its work in ./rowlock.db, which is made if need be.
    """
    show_logs(invocation, form="text", write=lambda line: click.echo(line, err=True))
    return _run(invocation, ServeOptions(host, port, invocation.verbose, apps, app_options))


@command("serve")
@host_option
@port_option
@click.option("--access-log/--no-access-log", default=True, help="A line of JSON on stderr for each request.")
@app_option
@app_options
@click.option(
    "--work/--no-work",
    default=None,
    help="Also send items to the processors of their lists; or not even work for applications.",
)
@click.option(
    "-j",
    "--concurrency",
    type=click.IntRange(1),
    default=CONCURRENCY,
    show_default=True,
    help="So many items at once, where it works.",
)
@bound_options
@log_option
@click.pass_obj
def serve(invocation: Invocation, /, *, log_format: str, **wanted: Any) -> int:
    """Serve the database over HTTP.

    Text, JSON and NDJSON on port 8642. On addresses that only this machine can reach it is open until there is a token;
    on others it wants one from everybody, and to begin with. SIGTERM ends it gently: it says that it is not
    ready, takes no more connections, and answers what it has begun.
    """
    show_logs(invocation, form=log_format, write=lambda line: click.echo(line, err=True))
    bounds = {name: wanted.pop(name) for name in config.NUMBERS}
    return _run(invocation, ServeOptions(**wanted, bounds=bounds))


@command("openapi")
def openapi() -> None:
    """Print what the service offers, as an OpenAPI 3.1 document."""
    _require()
    from rowlock.http.openapi import document
    from rowlock.http.routes import ROUTES

    output.write(msgspec.json.format(msgspec.json.encode(document(ROUTES)), indent=2).decode() + "\n")


def _require() -> None:
    """Say which package is missing; the service is an extra."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise ExtraMissing("the service needs starlette and uvicorn", "run: pip install 'rowlock[server]'") from None


def _run(invocation: Invocation, wanted: ServeOptions) -> int:
    _require()
    # Heavy, and only who serves needs them.
    from rowlock.http.access_log import AccessLog
    from rowlock.http.limits import configured
    from rowlock.http.server import Server, bind, is_loopback, no_tokens, require_tokens, within_files
    from rowlock.http.service import Service

    flags = {name: None if number is None else str(number) for name, number in wanted.bounds.items()}
    limits = within_files(configured(invocation.values(**flags)))
    host, database = wanted.host, invocation.database_itself().value
    if not is_loopback(host) and is_absent(parse(database)):
        raise no_tokens(host)  # and no file is made to find that out
    listen_url = invocation.listen_url()
    engine = Engine(database, listen_url=listen_url, patience=PATIENCE, statement_seconds=limits.request_seconds)
    with engine, built(engine, wanted.apps, settings=wanted.app_options) as applications:
        engine.make_ready()
        require_tokens(engine, host)
        sock = bind(host, wanted.port)
        service = Service(
            engine,
            limits=limits,
            loopback=is_loopback(host),
            access_log=AccessLog(sys.stderr) if wanted.access_log else None,
            audit_keep=invocation.audit_keep(),
            worker=_worker(engine, wanted, applications.values()),
            applications=applications,
        )
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{sock.getsockname()[1]}"
        pages = [path for each in applications.values() for path in each.pages]
        _collect_rarely()
        Server(service, started=lambda: _introduce(invocation, service, address, pages=pages)).run(sockets=[sock])
    return 0


def _collect_rarely() -> None:
    """Answers leave no cycles behind: the collector need not look after every few of them, nor at what was imported."""
    import gc  # only who serves needs it

    gc.freeze()
    gc.set_threshold(*SELDOM)


def _worker(engine: Engine, wanted: ServeOptions, applications: "Iterable[Application]") -> "Worker | None":
    register = [each.worker for each in applications if each.worker is not None]
    if wanted.work is False or not (wanted.work or register):
        return None
    from rowlock.worker import Worker  # only who works needs it

    worker = Worker(engine, concurrency=wanted.concurrency)
    for each in register:
        each(worker)
    if wanted.work:
        worker.process("*")
    return worker


def _introduce(invocation: Invocation, service: "Service", address: str, *, pages: Iterable[str]) -> None:
    database = parse(invocation.database_itself().value)
    invocation.say(f"rowlock serves {database.shown} at {address}")
    invocation.say(f"  add    printf 'a\\nb\\n' | curl --data-binary @- {address}/v1/lists/names/items")
    invocation.say(f"  look   curl {address}/v1/lists      everything: {address}/openapi.json")
    for page in pages:
        invocation.say(f"  open   {address}{page}")
    if service.engine.tokens.exist():
        invocation.say("  every request needs a token: rowlock token create --role worker")
    invocation.say("  Ctrl-C stops")
