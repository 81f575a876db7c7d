"""`rowlock save`: change an item, if it is still the one that was seen."""

from collections.abc import Callable
from typing import Any

import click

from rowlock.cli import output
from rowlock.cli.invocation import Invocation, command, list_argument, version_option
from rowlock.cli.look import item_document
from rowlock.cli.reading import json_value, moment


@command("save")
@list_argument()
@click.argument("key")
@click.option("--data", metavar="JSON", help="What it carries from now on; null for nothing.")
@click.option("--due", metavar="WHEN", help="Not ready before: 90s, 1h30m, 2030-01-31T12:00Z; 0s is at once.")
@click.option("--priority", type=int, metavar="N", help="0 is handed out first.")
@version_option
@click.option("--json", "as_json", is_flag=True, help="The item as it stands then.")
@click.pass_obj
def save(invocation: Invocation, /, *, name: str, key: str, version: int | None, as_json: bool, **given: Any) -> None:
    """Change an item's data, due time or priority; what is left out stays.

    With --version only if nobody has changed it since `rowlock show` told that version. What a worker has in hand is
    refused; what is gone is not made again.
    """
    read: dict[str, Callable[[Any], Any]] = {"data": json_value, "due": moment, "priority": int}
    changes = {option: read[option](value) for option, value in given.items() if value is not None}
    with invocation.open() as engine, invocation.acting():
        item = engine[name].save(key, version=version, **changes)
    if as_json:
        output.document({"list": item.list, **item_document(item)})
    else:
        sentence = f"saved {key} of {name}: version {item.version}"
        output.numbers(invocation, {"version": item.version}, sentence=sentence, as_json=False)
