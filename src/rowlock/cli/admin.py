"""`rowlock token`, `audit`, `migrate`, `upkeep`, `doctor`, `config` and `completion`: access, database, program."""

import time
from contextlib import closing
from functools import partial
from typing import Any

import click
import msgspec

from rowlock import backlog, diagnostics, schema
from rowlock.cli import output
from rowlock.cli.input import time_value
from rowlock.cli.invocation import AT_RISK, OUT_OF_REACH, Invocation, command, every, group, json_option
from rowlock.cli.output import Column
from rowlock.diagnostics import FINE, INFORMATION, RISK, UNREACHABLE, Finding
from rowlock.engine import Engine
from rowlock.roles import Role
from rowlock.schema import Migration
from rowlock.settings import Processor
from rowlock.tokens import NewToken

UPKEEP_WAIT_SECONDS = 60
"""How long `upkeep` may watch sessions past their deadline until it is certain that they are dead."""
ICONS = {FINE: "✓", INFORMATION: "·", RISK: "!", UNREACHABLE: "✕"}
CONFIG_COLUMNS = (Column("NAME", "name"), Column("VALUE", "shown"), Column("ORIGIN", "origin"))
TOKEN_COLUMNS = (
    Column("ID", lambda token: str(token.id)),
    Column("TOKEN", "shown"),
    Column("ROLE", "role"),
    Column("LISTS", lambda token: " ".join(token.lists)),
    Column("STATE", "state"),
    Column("CREATED", "created_at"),
    Column("EXPIRES", "expires_at"),
    Column("LAST USED", "last_used_at"),
    Column("LABEL", "label"),
)
AUDIT_COLUMNS = (
    Column("AT", "at"),
    Column("WHO", "who"),
    Column("VERB", "verb"),
    Column("LIST", "list"),
    Column("COUNT", "count"),
    Column("DETAILS", "details"),
)
COLORS = {FINE: "green", INFORMATION: "dim", RISK: "yellow", UNREACHABLE: "red"}


@group("token")
def token() -> None:
    """Create, list and revoke access tokens for the HTTP service."""


@token.command("create")
@click.option("--role", type=click.Choice([role.value for role in Role]), required=True, help="What its holder may do.")
@click.option("--lists", metavar="PREFIX", multiple=True, help="Only lists whose names begin with PREFIX; repeatable.")
@click.option("--expires", metavar="TIME", help="30d, 12h, or 2030-01-31T12:00Z; never if left out.")
@click.option("--label", metavar="TEXT", default="", help="Who or what it is for.")
@json_option
def create(invocation: Invocation, /, *, role: str, lists: tuple[str, ...], label: str, **options: Any) -> None:
    """Create a token: it is printed once, alone, and cannot be shown again."""
    expires = time_value(options["expires"]) if options["expires"] else None
    with invocation.open(create=True) as engine, invocation.acting():
        made = engine.tokens.create(role, lists=lists, label=label, expires=expires)
    if invocation.as_json:
        output.document({"token": made.text, **msgspec.structs.asdict(made.info)})
        return
    output.write(f"{made.text}\n")
    invocation.say(_sentence(made))


def _sentence(made: NewToken) -> str:
    info = made.info
    names = f" of lists that begin with {', '.join(info.lists)}" if info.lists else ""
    until = f" until {output.format_time(info.expires_at)}" if info.expires_at else ""
    return output.visible(f"token {info.id}: {info.role}{names}{until}; it is not shown again")


@token.command("ls")
@click.option("-a", "--all", "ended", is_flag=True, help="Also tokens that have expired or were revoked.")
@json_option
def ls(invocation: Invocation, *, ended: bool) -> None:
    """List tokens: what each is for, until when, and when it was last used."""
    with invocation.open() as engine:
        tokens = list(every(partial(engine.tokens.page, ended=ended), by="id", after=0))
    empty = "there are no tokens; create one: rowlock token create --role worker"
    output.table(invocation, {"tokens": tokens}, rows=tokens, columns=TOKEN_COLUMNS, empty=empty, blank="–")


@token.command("revoke")
@click.argument("token", metavar="ID", type=int)
def revoke(invocation: Invocation, *, token: int) -> None:
    """Revoke a token by its id; every server refuses it within a second."""
    with invocation.open() as engine, invocation.acting():
        changed = engine.tokens.revoke(token)
    invocation.say(f"token {token} is revoked" if changed else f"token {token} was revoked already")


@command("audit")
@click.option("--list", "of", metavar="LIST", help="Only changes of this list.")
@click.option("--since", metavar="TIME", help="The last 2h or 7d, or since 2030-01-31T12:00Z.")
@click.option("-n", "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Maximum of rows.")
@json_option
def audit(invocation: Invocation, *, of: str | None, since: str | None, limit: int) -> None:
    """Show who changed what: pause, retry, drop and the like, the newest first.

    It records what operators and admins do over HTTP, and what is done by hand on the command line.
    """
    with invocation.open() as engine:
        records = engine.audit(of=of, since=time_value(since) if since else None, limit=limit)
    output.table(invocation, {"records": records}, rows=records, columns=AUDIT_COLUMNS, empty="nothing is recorded")


@command("migrate")
@click.option("--plan", is_flag=True, help="Print the missing steps, and take none.")
@json_option
def migrate(invocation: Invocation, *, plan: bool) -> None:
    """Create the tables, or bring them up to date.

    Safe to run at the same time as others, and again after it was killed. A SQLite file is migrated automatically when
    it is first used.
    """
    with invocation.open_database(create=True) as engine:
        steps = _pending(engine) if plan else schema.migrate(engine.database)
        newest = len(schema.known(engine.database))
    if invocation.as_json:
        names = [{"number": step.number, "name": step.name} for step in steps]
        output.document({"schema": newest, "planned" if plan else "taken": names})
    elif output.on_terminal():
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
def upkeep(invocation: Invocation) -> None:
    """Run one bounded pass of upkeep, as every worker does regularly.

    Expires dead sessions, makes due items ready, opens gates that no worker looks at, folds old tallies, deletes old
    errors and results. Sessions past their deadline are watched for half of their expiry first, up to a minute.
    """
    with invocation.open_database(why="a server does its own upkeep") as engine:
        report = engine.upkeep(wait=UPKEEP_WAIT_SECONDS)
    sentence = ", ".join(f"{word} {count:,}" for word, count in msgspec.structs.asdict(report).items())
    output.result(invocation, report, sentence=sentence)


@command("doctor")
@json_option
@click.option("--health", metavar="URL", multiple=True, help="Check that this address answers, too; repeatable.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="A private host that may be requested; repeatable.")
@click.option("--check", "with_rows", is_flag=True, help="Check every stored row too: reads all items.")
def doctor(invocation: Invocation, *, with_rows: bool, health: tuple[str, ...], allow_host: tuple[str, ...]) -> int:
    """Check whether this database can keep rowlock's promises.

    Checks connection, schema, durability, permissions, free space and clock, and the processors of lists; each problem
    is printed with its fix.

    Exits with 0 if all is fine, 1 if a promise is at risk, 5 if the database is unreachable.
    """
    addresses = {each: Processor(each, health=each) for each in health}
    with invocation.open_database() as engine:
        findings = list(diagnostics.examine(engine.database, time.time))
        usable = any(each.name == "schema" and each.state == FINE for each in findings)
        if with_rows and usable:
            findings += _check_rows(engine)
        findings += _check_processors(engine, addresses, allow=invocation.allowed_hosts(allow_host), with_lists=usable)
    if invocation.as_json:
        output.document({"database": engine.database.address.shown, "findings": findings})
    elif output.on_terminal():
        for finding in findings:
            _show_finding(finding, plain=invocation.no_color)
    else:
        output.lines(msgspec.structs.astuple(finding) for finding in findings)
    return _exit_code(findings)


def _check_rows(engine: Engine) -> list[Finding]:
    broken = [Finding("rows", RISK, each.what, each.hint) for each in engine.read(diagnostics.violations)]
    return broken or [Finding("rows", FINE, "stored rows are consistent")]


def _check_processors(
    engine: Engine, addresses: dict[str, Processor], *, allow: list[str], with_lists: bool
) -> list[Finding]:
    if not addresses and not (with_lists and engine.read(backlog.processors, fits=lambda _: True, limit=1)):
        return []
    from rowlock.delivery.http_sender import sender_from_environment
    from rowlock.worker import health  # heavy: imported only to send requests
    from rowlock.worker.backend import LocalBackend

    with closing(sender_from_environment(allow)) as sender:
        processors = health.ProcessorGroup(sender, addresses, (lambda _: True) if with_lists else None)
        answers = health.examine(LocalBackend(engine), [processors])
    answers.pop(health.STORE)
    asked = {health.name_of(name): each.health is not None for name, each in {**processors.known, **addresses}.items()}
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


@group("config")
def config() -> None:
    """Show the configuration, each value with its origin."""


@config.command("show")
@json_option
def show(invocation: Invocation) -> None:
    """Show each value and its origin; secrets are masked."""
    values = list(invocation.values().values())
    document = {value.name: {"value": value.shown, "origin": value.origin} for value in values}
    output.table(invocation, document, rows=values, columns=CONFIG_COLUMNS)


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(_: Invocation, *, shell: str) -> None:
    """Print the completion script of a shell.

    bash: eval "$(rowlock completion bash)" in ~/.bashrc; zsh: eval "$(rowlock completion zsh)" in ~/.zshrc; fish:
    rowlock completion fish > ~/.config/fish/completions/rowlock.fish
    """
    from click.shell_completion import get_completion_class  # imported only here: other commands start faster

    kind = get_completion_class(shell)
    assert kind is not None, "click supports the three shells"  # noqa: S101
    script = kind(click.get_current_context().find_root().command, {}, "rowlock", "_ROWLOCK_COMPLETE")
    output.write(script.source_template % script.source_vars() + "\n")
