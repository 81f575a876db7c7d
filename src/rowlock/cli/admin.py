"""`rowlock migrate`, `upkeep`, `doctor`, `config` and `completion`: the database and the program."""

import time

import click
import msgspec

from rowlock import diagnostics, integrity, lists, schema
from rowlock.cli import output
from rowlock.cli.exits import AT_RISK, OUT_OF_REACH
from rowlock.cli.invocation import HELP, Invocation, command, is_absent, on_terminal
from rowlock.diagnostics import FINE, INFORMATION, RISK, UNREACHABLE, Finding
from rowlock.engine import Engine
from rowlock.model import Processor
from rowlock.schema import Migration

WATCH_SECONDS = 60
"""How long sessions whose deadline has passed may be watched until it is certain that they are dead."""
ICONS = {FINE: "✓", INFORMATION: "·", RISK: "!", UNREACHABLE: "✕"}
COLORS = {FINE: "green", INFORMATION: "dim", RISK: "yellow", UNREACHABLE: "red"}


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
        _show_steps(invocation, steps, newest=newest, plan=plan)
    else:
        output.lines((f"{step.number:04}", step.name) for step in steps)


def _pending(engine: Engine) -> list[Migration]:
    # To look must not make the file.
    return schema.known(engine.database) if is_absent(engine.database.address) else schema.pending(engine.database)


def _show_steps(invocation: Invocation, steps: list[Migration], *, newest: int, plan: bool) -> None:
    for step in steps:
        output.write(f"{'would take' if plan else 'taken'}  {step.number:04} {step.name}\n")
    if not steps:
        invocation.say(f"up to date at schema {newest}")


@command("upkeep")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_obj
def upkeep(invocation: Invocation, *, as_json: bool) -> None:
    """Do one bounded pass of housekeeping, as every worker does now and then.

    Ends dead sessions, puts due items in line, opens gates where no worker looks, adds up old tallies, forgets old
    errors and results. Sessions whose deadline has passed are watched for half of their expiry first, up to a minute.
    """
    with invocation.open_database(why="it keeps house by itself") as engine:
        report = engine.upkeep(wait=WATCH_SECONDS)
    counted: dict[str, int] = msgspec.structs.asdict(report)
    sentence = ", ".join(f"{word} {count:,}" for word, count in counted.items())
    output.numbers(invocation, counted, sentence=sentence, as_json=as_json)


@command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--health", metavar="URL", multiple=True, help="An address that must answer, too; may be repeated.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="A private host that may be asked.")
@click.option("--check", "with_rows", is_flag=True, help="Look at every stored row too: reads all items.")
@click.pass_obj
def doctor(
    invocation: Invocation, *, as_json: bool, with_rows: bool, health: tuple[str, ...], allow_host: tuple[str, ...]
) -> int:
    """Say whether this database is fit for the promises.

    Looks at connection, schema, durability, permissions, room and clock, and at the processors of lists; each
    problem comes with its fix.

    Ends with 0 if all is fine, 1 if a promise is at risk, 5 if the database is out of reach.
    """
    given = {each: Processor(each, health=each) for each in health}
    with invocation.open_database() as engine:
        findings = list(diagnostics.examine(engine.database, time.time))
        sound = any(each.name == "schema" and each.state == FINE for each in findings)
        if with_rows and sound:
            findings += _rows(engine)
        findings += _processors(engine, given, allow=invocation.allowed_hosts(allow_host), listed=sound)
    if as_json:
        output.document({"database": engine.database.address.shown, "findings": findings})
    elif on_terminal():
        for finding in findings:
            _show_finding(finding, plain=invocation.no_color)
    else:
        output.lines(msgspec.structs.astuple(finding) for finding in findings)
    return _status(findings)


def _rows(engine: Engine) -> list[Finding]:
    broken = [Finding("rows", RISK, each.what, each.hint) for each in engine.read(integrity.violations)]
    return broken or [Finding("rows", FINE, "what is stored agrees with itself")]


def _processors(engine: Engine, given: dict[str, Processor], *, allow: list[str], listed: bool) -> list[Finding]:
    if not given and not (listed and engine.read(lists.processors, fits=lambda _: True, limit=1)):
        return []
    from rowlock.delivery.sender import sender_from_environment
    from rowlock.worker import health  # HTTP is heavy, and only who sends needs it
    from rowlock.worker.local_backend import LocalBackend

    party = health.ProcessorGroup(sender_from_environment(allow), given, (lambda _: True) if listed else None)
    answers = health.examine(LocalBackend(engine), [party])
    return [_processor(name, wrong) for name, wrong in answers.items() if name != health.STORE]


def _processor(name: str, wrong: str) -> Finding:
    if wrong:
        return Finding(name, RISK, wrong, "see that it runs; its items fail meanwhile")
    return Finding(name, FINE, "it is well")


def _show_finding(finding: Finding, *, plain: bool) -> None:
    icon = output.colored(ICONS[finding.state], COLORS[finding.state], plain=plain)
    output.write(f"{icon} {finding.name:<30} {output.visible(finding.what)}\n")
    if finding.fix:
        output.write(f"{'':<33}→ {output.visible(finding.fix)}\n")


def _status(findings: list[Finding]) -> int:
    states = {finding.state for finding in findings}
    if UNREACHABLE in states:
        return OUT_OF_REACH
    return AT_RISK if RISK in states else 0


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


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print the completion script of a shell.

    bash: eval "$(rowlock completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: rowlock completion fish >
    ~/.config/fish/completions/rowlock.fish
    """
    from click.shell_completion import get_completion_class  # only this command needs it

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the three shells"  # noqa: S101
    script = kind(context.find_root().command, {}, "rowlock", "_ROWLOCK_COMPLETE")
    output.write(script.source_template % script.source_vars() + "\n")
