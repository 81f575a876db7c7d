"""`rowlock migrate`, `upkeep`, `doctor`, `config` and `completion`: care of the database and of the program."""

import time

import click
import msgspec

from rowlock import diagnostics, integrity, schema, workload
from rowlock.cli import output
from rowlock.cli.exits import AT_RISK, OUT_OF_REACH
from rowlock.cli.invocation import HELP_OPTIONS, Invocation, command, json_option, on_terminal
from rowlock.diagnostics import FINE, INFORMATION, RISK, UNREACHABLE, Finding
from rowlock.engine import Engine
from rowlock.model import Processor
from rowlock.schema import Migration

UPKEEP_WAIT_SECONDS = 60
"""How long `upkeep` may watch sessions past their deadline until it is certain that they are dead."""
ICONS = {FINE: "✓", INFORMATION: "·", RISK: "!", UNREACHABLE: "✕"}
COLORS = {FINE: "green", INFORMATION: "dim", RISK: "yellow", UNREACHABLE: "red"}


@command("migrate")
@click.option("--plan", is_flag=True, help="Print the missing steps, and take none.")
@json_option
@click.pass_obj
def migrate(invocation: Invocation, *, plan: bool, as_json: bool) -> None:
    """Create the tables, or bring them up to date.

    Safe to run at the same time as others, and again after it was killed. A SQLite file is migrated automatically when
    it is first used.
    """
    with invocation.open_database(create=True) as engine:
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
    # A plan must not create the file.
    missing = engine.database.address.is_missing_file
    return schema.known(engine.database) if missing else schema.pending(engine.database)


def _show_steps(invocation: Invocation, steps: list[Migration], *, newest: int, plan: bool) -> None:
    for step in steps:
        output.write(f"{'would take' if plan else 'taken'}  {step.number:04} {step.name}\n")
    if not steps:
        invocation.say(f"up to date at schema {newest}")


@command("upkeep")
@json_option
@click.pass_obj
def upkeep(invocation: Invocation, *, as_json: bool) -> None:
    """Run one bounded pass of upkeep, as every worker does regularly.

    Expires dead sessions, makes due items ready, opens gates that no worker looks at, folds old tallies, deletes old
    errors and results. Sessions past their deadline are watched for half of their expiry first, up to a minute.
    """
    with invocation.open_database(why="a server does its own upkeep") as engine:
        report = engine.upkeep(wait=UPKEEP_WAIT_SECONDS)
    counts: dict[str, int] = msgspec.structs.asdict(report)
    sentence = ", ".join(f"{word} {count:,}" for word, count in counts.items())
    output.result(invocation, counts, sentence=sentence, as_json=as_json)


@command("doctor")
@json_option
@click.option("--health", metavar="URL", multiple=True, help="Check that this address answers, too; repeatable.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="A private host that may be requested; repeatable.")
@click.option("--check", "with_rows", is_flag=True, help="Check every stored row too: reads all items.")
@click.pass_obj
def doctor(
    invocation: Invocation, *, as_json: bool, with_rows: bool, health: tuple[str, ...], allow_host: tuple[str, ...]
) -> int:
    """Check whether this database can keep rowlock's promises.

    Checks connection, schema, durability, permissions, free space and clock, and the processors of lists; each problem
    is printed with its fix.

    Exits with 0 if all is fine, 1 if a promise is at risk, 5 if the database is unreachable.
    """
    given = {each: Processor(each, health=each) for each in health}
    with invocation.open_database() as engine:
        findings = list(diagnostics.examine(engine.database, time.time))
        usable = any(each.name == "schema" and each.state == FINE for each in findings)
        if with_rows and usable:
            findings += _check_rows(engine)
        findings += _check_processors(engine, given, allow=invocation.allowed_hosts(allow_host), with_lists=usable)
    if as_json:
        output.document({"database": engine.database.address.shown, "findings": findings})
    elif on_terminal():
        for finding in findings:
            _show_finding(finding, plain=invocation.no_color)
    else:
        output.lines(msgspec.structs.astuple(finding) for finding in findings)
    return _exit_code(findings)


def _check_rows(engine: Engine) -> list[Finding]:
    broken = [Finding("rows", RISK, each.what, each.hint) for each in engine.read(integrity.violations)]
    return broken or [Finding("rows", FINE, "stored rows are consistent")]


def _check_processors(
    engine: Engine, given: dict[str, Processor], *, allow: list[str], with_lists: bool
) -> list[Finding]:
    if not given and not (with_lists and engine.read(workload.processors, fits=lambda _: True, limit=1)):
        return []
    from rowlock.delivery.sender import sender_from_environment
    from rowlock.worker import health  # heavy: imported only to send requests
    from rowlock.worker.backend import LocalBackend

    party = health.ProcessorGroup(sender_from_environment(allow), given, (lambda _: True) if with_lists else None)
    answers = health.examine(LocalBackend(engine), [party])
    answers.pop(health.STORE)
    asked = {health.name_of(name): each.health is not None for name, each in {**party.known, **given}.items()}
    return [_processor_finding(name, wrong, asked=asked.get(name, True)) for name, wrong in answers.items()]


def _processor_finding(name: str, wrong: str, *, asked: bool) -> Finding:
    if wrong:
        return Finding(name, RISK, wrong, "make sure that it runs; its items fail meanwhile")
    if not asked:
        return Finding(
            name, INFORMATION, "it was not asked: it has no health address", 'give it one: "health": "/health"'
        )
    return Finding(name, FINE, "it is healthy")


def _show_finding(finding: Finding, *, plain: bool) -> None:
    icon = output.colored(ICONS[finding.state], COLORS[finding.state], plain=plain)
    output.write(f"{icon} {finding.name:<30} {output.visible(finding.what)}\n")
    if finding.fix:
        output.write(f"{'':<33}→ {output.visible(finding.fix)}\n")


def _exit_code(findings: list[Finding]) -> int:
    states = {finding.state for finding in findings}
    if UNREACHABLE in states:
        return OUT_OF_REACH
    return AT_RISK if RISK in states else 0


@click.group("config", context_settings=HELP_OPTIONS)
def config() -> None:
    """Show the configuration, each value with its origin."""


@command("show")
@json_option
@click.pass_obj
def show(invocation: Invocation, *, as_json: bool) -> None:
    """Show each value and its origin; secrets are masked."""
    rows = [[value.name, value.shown, value.origin] for value in invocation.values().values()]
    document = {name: {"value": value, "origin": origin} for name, value, origin in rows}
    output.rows(invocation, document, as_json=as_json, table=output.Table(("NAME", "VALUE", "ORIGIN"), rows))


config.add_command(show)


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print the completion script of a shell.

    bash: eval "$(rowlock completion bash)" in ~/.bashrc; zsh: eval "$(rowlock completion zsh)" in ~/.zshrc; fish:
    rowlock completion fish > ~/.config/fish/completions/rowlock.fish
    """
    from click.shell_completion import get_completion_class  # imported only here: other commands start faster

    kind = get_completion_class(shell)
    assert kind is not None, "click supports the three shells"  # noqa: S101
    script = kind(context.find_root().command, {}, "rowlock", "_ROWLOCK_COMPLETE")
    output.write(script.source_template % script.source_vars() + "\n")
