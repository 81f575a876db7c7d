"""`rowlock token` and `rowlock audit`: who may do what over HTTP, and who did what."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from rowlock.audit import AuditRecord
from rowlock.cli import output
from rowlock.cli.input import moment
from rowlock.cli.invocation import HELP, Invocation, command, on_terminal
from rowlock.roles import Role
from rowlock.tokens import NewToken, TokenInfo

if TYPE_CHECKING:
    from rowlock.client import Client
    from rowlock.engine import Engine

PAGE = 1000

json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


@click.group("token", context_settings=HELP)
def token() -> None:
    """Make, list and revoke access tokens for the HTTP service."""


@command("create")
@click.option("--role", type=click.Choice([role.value for role in Role]), required=True, help="What its holder may do.")
@click.option("--lists", metavar="PREFIX", multiple=True, help="Only lists whose names begin so; may be repeated.")
@click.option("--expires", metavar="WHEN", help="30d, 12h, or 2030-01-31T12:00Z; never if left out.")
@click.option("--label", metavar="TEXT", default="", help="Who or what it is for.")
@json_option
@click.pass_obj
def create(invocation: Invocation, /, *, role: str, lists: tuple[str, ...], label: str, **options: Any) -> None:
    """Make a token: it is printed once, alone, and cannot be shown again."""
    expires = moment(options["expires"]) if options["expires"] else None
    with invocation.open(make=True) as engine, invocation.acting():
        made = engine.tokens.create(role, lists=lists, label=label, expires=expires)
    if options["as_json"]:
        output.document({"token": made.text, **_document(made.info)})
        return
    output.write(f"{made.text}\n")
    invocation.say(_sentence(made))


def _sentence(made: NewToken) -> str:
    info = made.info
    names = f" of lists that begin with {', '.join(info.lists)}" if info.lists else ""
    until = f" until {_spoken(info.expires_at)}" if info.expires_at else ""
    return output.visible(f"token {info.id}: {info.role}{names}{until}; it is not shown again")


@command("ls")
@click.option("-a", "--all", "ended", is_flag=True, help="Also those that have expired or were revoked.")
@json_option
@click.pass_obj
def ls(invocation: Invocation, *, ended: bool, as_json: bool) -> None:
    """List tokens: what each is for, until when, and when it was last used."""
    with invocation.open() as engine:
        found = _every(engine, ended=ended)
    if as_json:
        output.document({"tokens": [_document(each) for each in found]})
    elif not on_terminal():
        output.lines(_row(each) for each in found)
    elif found:
        headings = ("ID", "TOKEN", "ROLE", "LISTS", "STATE", "CREATED", "EXPIRES", "LAST USED", "LABEL")
        output.table(headings, [[str(cell or "–") for cell in _row(each)] for each in found], numeric=(0,))
    else:
        invocation.say("there is no token; make one: rowlock token create --role worker")


def _every(engine: "Engine | Client", *, ended: bool) -> list[TokenInfo]:
    found: list[TokenInfo] = []
    while page := engine.tokens.page(after=found[-1].id if found else 0, limit=PAGE, ended=ended):
        found += page
    return found


def _row(info: TokenInfo) -> tuple[object, ...]:
    times = [_spoken(at) if at else "" for at in (info.created_at, info.expires_at, info.last_used_at)]
    return info.id, info.shown, info.role, " ".join(info.lists), _state(info), *times, info.label


def _state(info: TokenInfo) -> str:
    return "live" if info.live else "revoked" if info.revoked_at else "expired"


def _document(info: TokenInfo) -> dict[str, object]:
    told = msgspec.structs.asdict(info)
    return {name: value for name, value in told.items() if name != "live"} | {"state": _state(info)}


def _spoken(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


@command("revoke")
@click.argument("token", metavar="ID", type=int)
@click.pass_obj
def revoke(invocation: Invocation, *, token: int) -> None:
    """End a token by its id; every server knows within a second."""
    with invocation.open() as engine, invocation.acting():
        changed = engine.tokens.revoke(token)
    invocation.say(f"token {token} is revoked" if changed else f"token {token} was revoked already")


for each in (create, ls, revoke):
    token.add_command(each)


@command("audit")
@click.option("--list", "of", metavar="LIST", help="Only what was done to this list.")
@click.option("--since", metavar="WHEN", help="The last 2h or 7d, or since 2030-01-31T12:00Z.")
@click.option("-n", "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="So many at most.")
@json_option
@click.pass_obj
def audit(invocation: Invocation, *, of: str | None, since: str | None, limit: int, as_json: bool) -> None:
    """Show who did what: pausing, retrying, dropping and the like, the newest first.

    Recorded is what operators and admins do over HTTP and by hand on the command line.
    """
    with invocation.open() as engine:
        found = engine.audit(of=of, since=moment(since) if since else None, limit=limit)
    if as_json:
        output.document({"records": found})
    elif not on_terminal():
        output.lines(_cells(each) for each in found)
    elif found:
        output.table(("AT", "WHO", "VERB", "LIST", "COUNT", "DETAILS"), [_cells(each) for each in found], numeric=(4,))
    else:
        invocation.say("nothing is recorded")


def _cells(record: AuditRecord) -> list[str]:
    details = "" if record.details is None else msgspec.json.encode(record.details).decode()
    count = "" if record.count is None else str(record.count)
    return [_spoken(record.at), record.who, record.verb, record.list or "", count, details]
