"""`rowlock done`, `increment`, `retry` and `abandon`: what has become of items, said by hand or by a script."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import click

from rowlock import failures, items
from rowlock.cli import output
from rowlock.cli.input import confirm, keys_from, nothing_to_read
from rowlock.cli.invocation import Invocation, command, list_argument
from rowlock.db import Transaction
from rowlock.engine import Engine
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid

CHUNK = 10_000
# What is recorded: done and increment are a worker's daily words.
OPERATING = (items.retry, items.abandon)
Verb = Callable[..., int]
keys_argument = click.argument("keys", metavar="[KEY]...|-", nargs=-1)
json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Say what would happen, and do nothing.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


def _all_failed(function: Callable[..., Any]) -> Callable[..., Any]:
    for_state = click.option("--state", type=click.Choice(["failed"]), help="The same as --failed.")
    for_error = click.option("--error", metavar="TEXT", help="All failed items whose last error says this.")
    return click.option("--failed", is_flag=True, help="All failed items of the list.")(for_state(for_error(function)))


@command("done")
@list_argument()
@keys_argument
@dry_run_option
@json_option
@click.pass_context
def done(context: click.Context, /, *, name: str, keys: tuple[str, ...], dry_run: bool, as_json: bool) -> int:
    """Take items that have been done off their list."""
    return _change(context, name, keys, verb=items.done, word="done", dry_run=dry_run, as_json=as_json)


@command("increment")
@list_argument()
@keys_argument
@click.option("--error", metavar="TEXT", help="What went wrong; kept with the item.")
@json_option
@click.pass_context
def increment(context: click.Context, /, *, name: str, keys: tuple[str, ...], error: str | None, as_json: bool) -> int:
    """Note one failed attempt for each item."""

    said = {} if error is None else {"error": error}
    return _change(context, name, keys, verb=items.increment, word="incremented", as_json=as_json, said=said)


@command("retry")
@list_argument()
@keys_argument
@_all_failed
@dry_run_option
@json_option
@click.pass_context
def retry(context: click.Context, /, *, name: str, keys: tuple[str, ...], **options: Any) -> int:
    """Make failed and delayed items ready at once.

    Their count of attempts begins anew.
    """
    if _wants_all_failed(keys, options):
        return _change_failed(context, name, verb=items.retry, word="retried", **options)
    dry_run, as_json = options["dry_run"], options["as_json"]
    return _change(context, name, keys, verb=items.retry, word="retried", dry_run=dry_run, as_json=as_json)


@command("abandon")
@list_argument()
@keys_argument
@_all_failed
@dry_run_option
@yes_option
@json_option
@click.pass_context
def abandon(context: click.Context, /, *, name: str, keys: tuple[str, ...], yes: bool, **options: Any) -> int:
    """Give up on items: off the list, undone."""
    if _wants_all_failed(keys, options):
        if not yes and not options["dry_run"]:
            saying = f" that say {options['error']!r}" if options["error"] else ""
            confirm(f"Give up on all failed items of {name!r}{saying}?")
        return _change_failed(context, name, verb=items.abandon, word="abandoned", **options)
    dry_run, as_json = options["dry_run"], options["as_json"]
    return _change(context, name, keys, verb=items.abandon, word="abandoned", dry_run=dry_run, as_json=as_json)


def _wants_all_failed(keys: tuple[str, ...], options: dict[str, Any]) -> bool:
    everything = bool(options["failed"] or options["state"] or options["error"])
    if everything and keys:
        raise Invalid("keys were given, and all failed items asked for", "give one of them")
    if options["error"] is not None and not options["error"]:
        raise Invalid("--error says nothing", "give a part of the message, or --failed for all")
    return everything


def _change(
    context: click.Context,
    name: str,
    keys: tuple[str, ...],
    *,
    verb: Verb,
    word: str,
    as_json: bool,
    dry_run: bool = False,
    said: Mapping[str, str] = {},
) -> int:
    if nothing_to_read(keys):
        click.echo(context.get_help(), err=True)
        return 2
    invocation: Invocation = context.obj
    with invocation.open() as engine:
        named = list(dict.fromkeys(keys_from(keys)))
        if not named:
            invocation.say("no keys were given on standard input")
        with invocation.acting(f"items.{verb.__name__}", wanted=verb in OPERATING and not dry_run):
            changed = _changed(engine, name, named, _dry(verb) if dry_run else verb, said)
        if not changed:
            engine[name].info()  # nothing there is no error, no list is
    _report(invocation, name, {word: changed, "missing": len(named) - changed}, dry_run=dry_run, as_json=as_json)
    return 0


def _dry(verb: Verb) -> Verb:
    return failures.count_retryable if verb is items.retry else failures.count_existing


def _changed(engine: Handles, name: str, keys: Sequence[str], verb: Verb, said: Mapping[str, str]) -> int:
    if isinstance(engine, Engine):
        return engine.run(_in_chunks, name, keys, partial(verb, **said))
    return sum(engine.run(verb, name, chunk, **said) for chunk in _chunks(keys))


def _in_chunks(tx: Transaction, name: str, keys: Sequence[str], verb: Verb) -> int:
    return sum(verb(tx, name, chunk) for chunk in _chunks(keys))


def _chunks(keys: Sequence[str]) -> Iterator[list[str]]:
    rest = iter(keys)
    return iter(lambda: list(islice(rest, CHUNK)), [])


def _change_failed(
    context: click.Context,
    name: str,
    *,
    verb: Verb,
    word: str,
    dry_run: bool,
    as_json: bool,
    error: str | None,
    **_: Any,
) -> int:
    invocation: Invocation = context.obj
    with invocation.open() as engine:
        if error is None and dry_run:
            changed = engine[name].counts().failed
        else:
            with invocation.acting(f"items.{verb.__name__}", wanted=not dry_run):
                changed = _each_failed(engine, name, failures.count_given if dry_run else verb, error)
    _report(invocation, name, {word: changed}, dry_run=dry_run, as_json=as_json)
    return 0


def _each_failed(engine: Handles, name: str, verb: Verb, error: str | None) -> int:
    changed = 0
    after: str | None = ""
    while after is not None:
        count, after = engine.run(failures.change_failed, name, change=verb, after=after, error=error)
        changed += count
    return changed


def _report(invocation: Invocation, name: str, counted: dict[str, int], *, dry_run: bool, as_json: bool) -> None:
    (word, count), *others = counted.items()
    sentence = f"{'would be ' if dry_run else ''}{word}: {output.plural(count)} of {name}"
    if others and others[0][1]:
        sentence += f"; {others[0][1]:,} {'was' if others[0][1] == 1 else 'were'} not there to be"
    output.numbers(invocation, {**counted, **({"dry_run": 1} if dry_run else {})}, sentence=sentence, as_json=as_json)
