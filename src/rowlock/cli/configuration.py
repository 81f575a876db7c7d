"""`rowlock config`: what is configured, and who said so."""

import click

from rowlock.cli import output
from rowlock.cli.invocation import HELP, Invocation, command, on_terminal


@click.group("config", context_settings=HELP)
def config() -> None:
    """Show the configuration, each value with its origin."""


@command("show")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def show(invocation: Invocation, *, as_json: bool) -> None:
    """Show each value and its origin; secrets are masked."""
    values = invocation.values().values()
    rows = [[value.name, value.shown, value.origin] for value in values]
    if as_json:
        output.document({name: {"value": value, "origin": origin} for name, value, origin in rows})
    elif on_terminal():
        output.table(("NAME", "VALUE", "ORIGIN"), rows)
    else:
        output.lines(rows)


config.add_command(show)
