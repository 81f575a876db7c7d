"""`rowlock migrate`: bring a database's tables to what this program needs."""

import click

from rowlock import schema
from rowlock.cli import output
from rowlock.cli.invocation import Invocation, command, is_absent, on_terminal
from rowlock.engine import Engine
from rowlock.schema import Migration


@command("migrate")
@click.option("--plan", is_flag=True, help="Say which steps are missing, and take none.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_obj
def migrate(invocation: Invocation, *, plan: bool, as_json: bool) -> None:
    """Make the tables, or bring them up to date.

    Safe while others do the same, and after being killed half-way. A SQLite file is migrated by itself when it is
    first used.
    """
    with invocation.open_database(make=True) as engine:
        steps = _pending(engine) if plan else schema.migrate(engine.database)
        newest = len(schema.known(engine.database))
    if as_json:
        names = [{"number": step.number, "name": step.name} for step in steps]
        output.document({"schema": newest, "planned" if plan else "taken": names})
    elif on_terminal():
        _tell(invocation, steps, newest=newest, plan=plan)
    else:
        output.lines((f"{step.number:04}", step.name) for step in steps)


def _pending(engine: Engine) -> list[Migration]:
    # To look must not make the file.
    return schema.known(engine.database) if is_absent(engine.database.address) else schema.pending(engine.database)


def _tell(invocation: Invocation, steps: list[Migration], *, newest: int, plan: bool) -> None:
    for step in steps:
        output.write(f"{'would take' if plan else 'taken'}  {step.number:04} {step.name}\n")
    if not steps:
        invocation.say(f"up to date at schema {newest}")
