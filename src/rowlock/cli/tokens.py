"""`rowlock token` and `rowlock audit`: access to the HTTP service, and the record of changes."""

from functools import partial
from typing import Any

import click
import msgspec

from rowlock.audit import AuditRecord
from rowlock.cli import output
from rowlock.cli.input import time_value
from rowlock.cli.invocation import HELP_OPTIONS, Invocation, command, every, json_option
from rowlock.roles import Role
from rowlock.tokens import NewToken, TokenInfo


@click.group("token", context_settings=HELP_OPTIONS)
def token() -> None:
    """Create, list and revoke access tokens for the HTTP service."""


@command("create")
@click.option("--role", type=click.Choice([role.value for role in Role]), required=True, help="What its holder may do.")
@click.option("--lists", metavar="PREFIX", multiple=True, help="Only lists whose names begin with PREFIX; repeatable.")
@click.option("--expires", metavar="TIME", help="30d, 12h, or 2030-01-31T12:00Z; never if left out.")
@click.option("--label", metavar="TEXT", default="", help="Who or what it is for.")
@json_option
@click.pass_obj
def create(invocation: Invocation, /, *, role: str, lists: tuple[str, ...], label: str, **options: Any) -> None:
    """Create a token: it is printed once, alone, and cannot be shown again."""
    expires = time_value(options["expires"]) if options["expires"] else None
    with invocation.open(create=True) as engine, invocation.acting():
        made = engine.tokens.create(role, lists=lists, label=label, expires=expires)
    if options["as_json"]:
        output.document({"token": made.text, **msgspec.structs.asdict(made.info)})
        return
    output.write(f"{made.text}\n")
    invocation.say(_sentence(made))


def _sentence(made: NewToken) -> str:
    info = made.info
    names = f" of lists that begin with {', '.join(info.lists)}" if info.lists else ""
    until = f" until {output.format_time(info.expires_at)}" if info.expires_at else ""
    return output.visible(f"token {info.id}: {info.role}{names}{until}; it is not shown again")


@command("ls")
@click.option("-a", "--all", "ended", is_flag=True, help="Also tokens that have expired or were revoked.")
@json_option
@click.pass_obj
def ls(invocation: Invocation, *, ended: bool, as_json: bool) -> None:
    """List tokens: what each is for, until when, and when it was last used."""
    with invocation.open() as engine:
        found = list(every(partial(engine.tokens.page, ended=ended), by="id", after=0))
    headings = ("ID", "TOKEN", "ROLE", "LISTS", "STATE", "CREATED", "EXPIRES", "LAST USED", "LABEL")
    output.rows(
        invocation,
        {"tokens": found},
        as_json=as_json,
        piped=map(_row, found),
        table=output.Table(headings, [[str(cell or "–") for cell in _row(each)] for each in found], numeric=(0,)),
        empty="there are no tokens; create one: rowlock token create --role worker",
    )


def _row(info: TokenInfo) -> tuple[object, ...]:
    times = map(output.format_time, (info.created_at, info.expires_at, info.last_used_at))
    return info.id, info.shown, info.role, " ".join(info.lists), info.state, *times, info.label


@command("revoke")
@click.argument("token", metavar="ID", type=int)
@click.pass_obj
def revoke(invocation: Invocation, *, token: int) -> None:
    """Revoke a token by its id; every server refuses it within a second."""
    with invocation.open() as engine, invocation.acting():
        changed = engine.tokens.revoke(token)
    invocation.say(f"token {token} is revoked" if changed else f"token {token} was revoked already")


for each in (create, ls, revoke):
    token.add_command(each)


@command("audit")
@click.option("--list", "of", metavar="LIST", help="Only changes of this list.")
@click.option("--since", metavar="TIME", help="The last 2h or 7d, or since 2030-01-31T12:00Z.")
@click.option("-n", "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Maximum of rows.")
@json_option
@click.pass_obj
def audit(invocation: Invocation, *, of: str | None, since: str | None, limit: int, as_json: bool) -> None:
    """Show who changed what: pause, retry, drop and the like, the newest first.

    It records what operators and admins do over HTTP, and what is done by hand on the command line.
    """
    with invocation.open() as engine:
        found = engine.audit(of=of, since=time_value(since) if since else None, limit=limit)
    headings = ("AT", "WHO", "VERB", "LIST", "COUNT", "DETAILS")
    output.rows(
        invocation,
        {"records": found},
        as_json=as_json,
        table=output.Table(headings, [_audit_cells(each) for each in found], numeric=(4,)),
        empty="nothing is recorded",
    )


def _audit_cells(record: AuditRecord) -> list[str]:
    details = "" if record.details is None else output.format_json(record.details)
    count = "" if record.count is None else str(record.count)
    return [output.format_time(record.at), record.who, record.verb, record.list or "", count, details]
