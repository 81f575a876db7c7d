"""`rowlock serve`, `up`, `openapi` and `mcp`: the HTTP service, and the applications that it serves."""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import click
import msgspec

from rowlock import config
from rowlock.cli import output
from rowlock.cli.invocation import INTERRUPTED, Invocation, command
from rowlock.cli.terminal import log_option, show_logs
from rowlock.db import parse
from rowlock.engine import Engine
from rowlock.errors import ExtraMissing, Invalid
from rowlock.names import closest
from rowlock.roles import Role

if TYPE_CHECKING:
    from rowlock.http.applications import Application
    from rowlock.http.service import Service
    from rowlock.worker import Worker

HOST, PORT = "127.0.0.1", 8642
PATIENCE_SECONDS = 5.0
CONCURRENCY = 16
GC_THRESHOLDS = (20_000, 20, 20)
ENTRY_POINTS = "rowlock.apps"
"""The entry points of installed applications, and the package of our own."""
WORK_HELP = "Also send items to the processors of their lists; or do not even work for applications."
CONCURRENCY_HELP = "Items at once, where it works."
LIMIT_HELP = {
    "connections": ("Maximum of connections.", "4000"),
    "connections_per_address": ("Maximum from one address; raise it behind a proxy.", "256"),
    "long_polls": ("Maximum of requests that wait for work or events.", "three quarters of the connections"),
    "long_polls_per_address": ("Maximum of such requests from one address.", "three quarters of its connections"),
    "waiting_requests": ("Maximum of requests that wait for the database.", "2000"),
}
"""For each limit its help and its default in words: the numbers stand in a module that is imported only to serve."""

host_option = click.option("--host", default=HOST, show_default=True, help="The address to listen on.")
port_option = click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 is any.")
app_option = click.option("--app", "apps", multiple=True, metavar="NAME", help="Also serve an application; repeatable.")
app_options = click.option(
    "--app-option", "app_options", multiple=True, metavar="NAME.KEY=VALUE", help="An option of it; repeatable."
)


class ServeOptions(msgspec.Struct, frozen=True):
    """What to serve, and where."""

    host: str
    port: int
    access_log: bool
    apps: tuple[str, ...] = ()
    app_options: tuple[str, ...] = ()
    work: bool | None = None
    """True works for processors and applications, False for nothing, None for applications."""
    concurrency: int = CONCURRENCY
    limits: Mapping[str, int | None] = {}
    """The values of `config.WHOLE_NUMBERS` that were given as options."""


def limit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare an option for each limit that can be configured."""
    for name in reversed(config.WHOLE_NUMBERS):
        flag = f"--{name.replace('_', '-')}"
        text, default = LIMIT_HELP[name]
        function = click.option(flag, name, type=click.IntRange(1), show_default=default, help=text)(function)
    return function


@command("up")
@host_option
@port_option
@app_option
@app_options
def up(invocation: Invocation, /, *, host: str, port: int, apps: tuple[str, ...], app_options: tuple[str, ...]) -> int:
    """Start the service on this machine, without any setup.

    It listens on 127.0.0.1:8642 and stores its data in ./rowlock.db, which is created if necessary.
    """
    show_logs(invocation, form="text")
    return _serve(invocation, ServeOptions(host, port, invocation.verbose, apps, app_options))


@command("serve")
@host_option
@port_option
@click.option("--access-log/--no-access-log", default=True, help="A line of JSON on stderr for each request.")
@app_option
@app_options
@click.option("--work/--no-work", default=None, help=WORK_HELP)
@click.option(
    "-j", "--concurrency", type=click.IntRange(1), default=CONCURRENCY, show_default=True, help=CONCURRENCY_HELP
)
@limit_options
@log_option
def serve(invocation: Invocation, /, *, log_format: str, **options: Any) -> int:
    """Serve the database over HTTP.

    Text, JSON and NDJSON on port 8642. On addresses that only this machine can reach, no token is needed until one
    exists; on others every request needs one, and the service starts only if there is one. SIGTERM stops it gracefully:
    it reports that it is not ready, accepts no more connections, and answers requests that have begun.
    """
    show_logs(invocation, form=log_format)
    limits = {name: options.pop(name) for name in config.WHOLE_NUMBERS}
    return _serve(invocation, ServeOptions(**options, limits=limits))


@command("openapi")
def openapi(_: Invocation) -> None:
    """Print the OpenAPI 3.1 document of the service."""
    _require_server_extra()
    from rowlock.http.openapi import document
    from rowlock.http.routes import ROUTES

    output.write(msgspec.json.format(msgspec.json.encode(document(ROUTES)), indent=2).decode() + "\n")


@command("mcp")
@click.option("--allow-writes", is_flag=True, help="Also offer what the role operator may do: add, retry, pause, …")
def mcp(invocation: Invocation, /, *, allow_writes: bool) -> None:
    """Offer the database to an assistant, as a server of the Model Context Protocol.

    It speaks on standard input and output: an assistant starts it. Without --allow-writes it only reads.
    """
    try:
        import mcp as sdk  # noqa: F401
    except ImportError:
        raise ExtraMissing("rowlock mcp needs the package mcp", "run: pip install 'rowlock[mcp]'") from None
    _require_server_extra()
    import asyncio  # heavy: imported only to serve

    from rowlock import mcp as tools

    role = Role.OPERATOR if allow_writes else Role.VIEWER
    values = invocation.values()
    target, token = config.target(values), values.get("token")
    if target.name == "server":
        service = tools.remote_service(target.value, token.value if token else None)
        asyncio.run(tools.serve(service, role=role))
        return
    with invocation.open_database() as engine:
        asyncio.run(tools.serve(tools.database_service(engine, role), role=role))


def _require_server_extra() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise ExtraMissing("the service needs starlette and uvicorn", "run: pip install 'rowlock[server]'") from None


def _serve(invocation: Invocation, options: ServeOptions) -> int:
    _require_server_extra()
    # Heavy: imported only to serve.
    from rowlock.api.server_limits import configured
    from rowlock.http.monitoring import AccessLog
    from rowlock.http.server import Server, bind, is_loopback, no_tokens, require_tokens, within_files
    from rowlock.http.service import Service

    flags = {name: None if number is None else str(number) for name, number in options.limits.items()}
    values = invocation.values(**flags)
    limits = within_files(configured(values))
    host, database = options.host, invocation.database_value().value
    if not is_loopback(host) and parse(database).is_missing_file:
        raise no_tokens(host, parse(database).option)  # without creating the file
    listen_url = invocation.listen_url()
    seconds = limits.request_seconds
    engine = Engine(database, listen_url=listen_url, patience=PATIENCE_SECONDS, statement_seconds=seconds)
    with engine, _built(engine, options.apps, settings=options.app_options) as applications:
        engine.make_ready()
        require_tokens(engine, host)
        sock = bind(host, options.port)
        service = Service(
            engine,
            limits=limits,
            loopback=is_loopback(host),
            access_log=AccessLog(sys.stderr) if options.access_log else None,
            audit_keep=invocation.audit_keep(),
            trace_url=invocation.trace_url(),
            configuration=tuple(values.values()),
            worker=_worker(engine, options, applications.values()),
            applications=applications,
        )
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{sock.getsockname()[1]}"
        pages = [path for each in applications.values() for path in each.pages]
        _collect_garbage_rarely()
        server = Server(service, started=lambda: _introduce(invocation, service, address, pages=pages))
        return _until_interrupted(partial(server.run, sockets=[sock]), invocation)


def _until_interrupted(run: Callable[[], None], invocation: Invocation) -> int:
    try:
        run()
    except KeyboardInterrupt:  # raised after an orderly shutdown; a terminal shows ^C before it
        invocation.say("\nstopped" if sys.stderr.isatty() else "stopped")
        return INTERRUPTED
    return 0


def _collect_garbage_rarely() -> None:
    """Exempt imported modules from garbage collection and collect less often: requests leave no cycles behind."""
    import gc  # imported only to serve

    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def _worker(engine: Engine, options: ServeOptions, applications: "Iterable[Application]") -> "Worker | None":
    register = [each.worker for each in applications if each.worker is not None]
    if options.work is False or not (options.work or register):
        return None
    from rowlock.worker import Worker  # imported only to work

    worker = Worker(engine, concurrency=options.concurrency)
    for each in register:
        each(worker)
    if options.work:
        worker.process("*")
    return worker


def _introduce(invocation: Invocation, service: "Service", address: str, *, pages: Iterable[str]) -> None:
    database = parse(invocation.database_value().value)
    invocation.say(f"rowlock serves {database.shown} at {address}")
    invocation.say(f"  add    printf 'a\\nb\\n' | curl --data-binary @- {address}/v1/lists/names/items")
    invocation.say(f"  look   curl {address}/v1/lists, or open {address} in a browser")
    for page in pages:
        invocation.say(f"  open   {address}{page}")
    if service.engine.tokens.exist():
        invocation.say(f"  every request needs a token: rowlock {database.option}token create --role worker")
    invocation.say("  Ctrl-C stops")


@contextmanager
def _built(engine: Engine, names: Sequence[str], *, settings: Sequence[str]) -> "Iterator[dict[str, Application]]":
    """Build the applications of these names, and close them in reverse order at the end of the block."""
    options = _options_by_app(names, settings)
    with ExitStack() as stack:
        applications: dict[str, Application] = {}
        for name in dict.fromkeys(names):
            applications[name] = _build(name, engine, options[name])
            stack.callback(applications[name].close)
        yield applications


def _options_by_app(names: Sequence[str], settings: Sequence[str]) -> dict[str, dict[str, str]]:
    options: dict[str, dict[str, str]] = {name: {} for name in names}
    for each in settings:
        place, equals, value = each.partition("=")
        name, dot, key = place.partition(".")
        if not (equals and dot and key.isidentifier()):
            what = f"--app-option must be NAME.KEY=VALUE, got {place!r}"
            raise Invalid(what, "write it like: --app-option chat.search=fts")
        if name not in options:
            raise Invalid(f"--app-option {place} needs --app {name}", f"add --app {name}")
        options[name][key] = value
    return options


def _build(name: str, engine: Engine, options: dict[str, str]) -> "Application":
    build = _builder(name)
    try:
        inspect.signature(build).bind(engine, **options)
    except TypeError:
        known = [key for key in inspect.signature(build).parameters if key != "engine"]
        what = f"invalid options of the application {name!r}: {', '.join(options) or 'none'}"
        raise Invalid(what, f"its options are {', '.join(known)}" if known else "it has no options") from None
    application: Application = build(engine, **options)
    return application


def _builder(name: str) -> Callable[..., Any]:
    """Return the function that builds an application: of our own package, or of an installed entry point."""
    installed = {each.name: each for each in entry_points(group=ENTRY_POINTS)}
    own = _own_applications()
    build: Callable[..., Any] | None = None
    try:
        if name in own:
            build = importlib.import_module(f"{ENTRY_POINTS}.{name}").build
        elif name in installed:
            build = installed[name].load()
    except ImportError as error:
        hint = f"run: pip install {error.name}" if error.name else "install what it needs"
        raise Invalid(f"the application {name!r} cannot be loaded: {error}".splitlines()[0], hint) from None
    if build is not None:
        return build
    known = sorted({*own, *installed})
    near = closest(name, known)
    every = f"there are {', '.join(known)}" if known else "none is installed"
    raise Invalid(f"unknown application {name!r}", f"did you mean {near!r}?" if near else every)


def _own_applications() -> list[str]:
    # Applications are above the command line: they are found by name, never imported from here.
    return [each.name for each in pkgutil.iter_modules(importlib.import_module(ENTRY_POINTS).__path__) if each.ispkg]
