"""`rowlock doctor`: is this database fit for the promises?"""

import time

import click
import msgspec

from rowlock import check, insight, lists
from rowlock.cli import output
from rowlock.cli.exits import AT_RISK, OUT_OF_REACH
from rowlock.cli.invocation import Invocation, command, on_terminal
from rowlock.engine import Engine
from rowlock.insight import FINE, INFORMATION, RISK, UNREACHABLE, Finding
from rowlock.model import Processor

ICONS = {FINE: "✓", INFORMATION: "·", RISK: "!", UNREACHABLE: "✕"}
COLORS = {FINE: "green", INFORMATION: "dim", RISK: "yellow", UNREACHABLE: "red"}


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
        findings = list(insight.examine(engine.database, time.time))
        sound = any(each.name == "schema" and each.state == FINE for each in findings)
        if with_rows and sound:
            findings += _rows(engine)
        findings += _processors(engine, given, allow=invocation.allowed_hosts(allow_host), listed=sound)
    if as_json:
        output.document({"database": engine.database.address.shown, "findings": findings})
    elif on_terminal():
        for finding in findings:
            _tell(finding, plain=invocation.no_color)
    else:
        output.lines(msgspec.structs.astuple(finding) for finding in findings)
    return _status(findings)


def _rows(engine: Engine) -> list[Finding]:
    broken = [Finding("rows", RISK, each.what, each.hint) for each in engine.read(check.broken)]
    return broken or [Finding("rows", FINE, "what is stored agrees with itself")]


def _processors(engine: Engine, given: dict[str, Processor], *, allow: list[str], listed: bool) -> list[Finding]:
    if not given and not (listed and engine.read(lists.processors, fits=lambda _: True, limit=1)):
        return []
    from rowlock.outgoing.sender import allowing
    from rowlock.worker import health  # HTTP is heavy, and only who sends needs it
    from rowlock.worker.here import Here

    party = health.Party(allowing(allow), given, (lambda _: True) if listed else None)
    answers = health.examine(Here(engine), [party])
    return [_processor(name, wrong) for name, wrong in answers.items() if name != health.STORE]


def _processor(name: str, wrong: str) -> Finding:
    if wrong:
        return Finding(name, RISK, wrong, "see that it runs; its items fail meanwhile")
    return Finding(name, FINE, "it is well")


def _tell(finding: Finding, *, plain: bool) -> None:
    icon = output.painted(ICONS[finding.state], COLORS[finding.state], plain=plain)
    output.write(f"{icon} {finding.name:<30} {output.visible(finding.what)}\n")
    if finding.fix:
        output.write(f"{'':<33}→ {output.visible(finding.fix)}\n")


def _status(findings: list[Finding]) -> int:
    states = {finding.state for finding in findings}
    if UNREACHABLE in states:
        return OUT_OF_REACH
    return AT_RISK if RISK in states else 0
