"""`rowlock done`, `increment`, `retry` and `abandon`: change many items by their keys, or all failed ones."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from rowlock.cli import output
from rowlock.cli.input import confirm, keys_from, nothing_to_read
from rowlock.cli.invocation import Invocation, command, json_option, list_argument
from rowlock.engine import List
from rowlock.errors import Invalid

# Changes that the audit records; done and increment are the daily work of workers.
AUDITED_VERBS = ("retry", "abandon")

keys_argument = click.argument("keys", metavar="[KEY]...|-", nargs=-1)
dry_run_option = click.option("--dry-run", is_flag=True, help="Print what would happen, and change nothing.")


def _failed_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for_state = click.option("--state", type=click.Choice(["failed"]), help="An alias of --failed.")
    for_error = click.option("--error", metavar="TEXT", help="All failed items whose last error contains TEXT.")
    return click.option("--failed", is_flag=True, help="All failed items of the list.")(for_state(for_error(function)))


@command("done")
@list_argument()
@keys_argument
@dry_run_option
@json_option
@click.pass_context
def done(context: click.Context, /, *, name: str, keys: tuple[str, ...], dry_run: bool, as_json: bool) -> int:
    """Take items that are done off their list."""
    return _change(context, name, keys, change=List.done, word="done", dry_run=dry_run, as_json=as_json)


@command("increment")
@list_argument()
@keys_argument
@click.option("--error", metavar="TEXT", help="The error message to store with each item.")
@json_option
@click.pass_context
def increment(context: click.Context, /, *, name: str, keys: tuple[str, ...], error: str | None, as_json: bool) -> int:
    """Count one failed attempt for each item."""
    change = partial(List.increment, error=error)
    return _change(context, name, keys, change=change, word="incremented", as_json=as_json)


@command("retry")
@list_argument()
@keys_argument
@_failed_options
@dry_run_option
@json_option
@click.pass_context
def retry(context: click.Context, /, *, name: str, keys: tuple[str, ...], **options: Any) -> int:
    """Make failed and delayed items ready at once.

    Their count of attempts starts at 0 again.
    """
    if _wants_all_failed(keys, options):
        return _change_failed(context, name, change=List.retry_failed, word="retried", **options)
    dry_run, as_json = options["dry_run"], options["as_json"]
    return _change(context, name, keys, change=List.retry, word="retried", dry_run=dry_run, as_json=as_json)


@command("abandon")
@list_argument()
@keys_argument
@_failed_options
@dry_run_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@click.pass_context
def abandon(context: click.Context, /, *, name: str, keys: tuple[str, ...], yes: bool, **options: Any) -> int:
    """Take items off their list undone."""
    if _wants_all_failed(keys, options):
        if not yes and not options["dry_run"]:
            which = f" whose error contains {options['error']!r}" if options["error"] else ""
            confirm(f"Abandon all failed items of {name!r}{which}?")
        return _change_failed(context, name, change=List.abandon_failed, word="abandoned", **options)
    dry_run, as_json = options["dry_run"], options["as_json"]
    return _change(context, name, keys, change=List.abandon, word="abandoned", dry_run=dry_run, as_json=as_json)


def _wants_all_failed(keys: tuple[str, ...], options: dict[str, Any]) -> bool:
    everything = bool(options["failed"] or options["state"] or options["error"])
    if everything and keys:
        raise Invalid("keys cannot be combined with --failed, --state or --error", "give one of them")
    if options["error"] is not None and not options["error"]:
        raise Invalid("--error must not be empty", "give a part of the message, or --failed for all")
    return everything


def _change(
    context: click.Context,
    name: str,
    keys: Sequence[str],
    *,
    change: Callable[..., int],
    word: str,
    as_json: bool,
    dry_run: bool = False,
) -> int:
    if nothing_to_read(keys):
        click.echo(context.get_help(), err=True)
        return 2
    invocation: Invocation = context.obj
    with invocation.open() as engine:
        named = list(dict.fromkeys(keys_from(keys)))
        if not named:
            invocation.say("no keys were given on standard input")
        with _audited(context, dry_run=dry_run):
            changed = change(engine[name], named, **({"dry_run": True} if dry_run else {}))
        if not changed:
            engine[name].info()  # keys that are absent are no error, but a list that does not exist is
    _report(invocation, name, {word: changed, "missing": len(named) - changed}, dry_run=dry_run, as_json=as_json)
    return 0


def _change_failed(
    context: click.Context,
    name: str,
    *,
    change: Callable[..., int],
    word: str,
    dry_run: bool,
    as_json: bool,
    error: str | None,
    **_: Any,
) -> int:
    invocation: Invocation = context.obj
    with invocation.open() as engine, _audited(context, dry_run=dry_run):
        changed = change(engine[name], error=error, dry_run=dry_run)
    _report(invocation, name, {word: changed}, dry_run=dry_run, as_json=as_json)
    return 0


def _audited(context: click.Context, *, dry_run: bool) -> Any:
    verb = context.command.name
    invocation: Invocation = context.obj
    return invocation.acting(f"items.{verb}", wanted=verb in AUDITED_VERBS and not dry_run)


def _report(invocation: Invocation, name: str, counts: dict[str, int], *, dry_run: bool, as_json: bool) -> None:
    word, count = next(iter(counts.items()))
    sentence = f"{'would be ' if dry_run else ''}{word}: {output.plural(count)} of {name}"
    if missing := counts.get("missing"):
        sentence += f"; {missing:,} {'was' if missing == 1 else 'were'} not there to be"
    output.result(invocation, {**counts, **({"dry_run": 1} if dry_run else {})}, sentence=sentence, as_json=as_json)
