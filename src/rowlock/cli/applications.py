"""`--app` and `--app-option`: which applications are served beside the service, and how they are made."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import click

from rowlock.engine import Engine
from rowlock.errors import Invalid
from rowlock.names import closest

if TYPE_CHECKING:
    from rowlock.http.applications import Application

GROUP = "rowlock.apps"

app_option = click.option("--app", "apps", multiple=True, metavar="NAME", help="Also serve an application; repeatable.")
app_options = click.option(
    "--app-option", "app_options", multiple=True, metavar="NAME.KEY=VALUE", help="How it is made; repeatable."
)


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
