"""`rowlock claim`, `ack` and `sessions`: claims for scripts that do the work themselves."""

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.exits import NOTHING_TO_DO
from rowlock.cli.input import STDIN, keys_from
from rowlock.cli.invocation import Invocation, command, json_option, list_argument, on_terminal
from rowlock.engine import Claim, Session
from rowlock.errors import Invalid
from rowlock.model import Item, ListInfo
from rowlock.outcomes import Verdict
from rowlock.sessions import SessionInfo

UPKEEP_WAIT_SECONDS = 10
"""How long `claim` may watch sessions that look dead: enough for workers with the default expiry."""
MAX_NAMES_SHOWN = 5


@command("claim")
@list_argument()
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Maximum of items.")
@click.option("--session", "known", metavar="ID", help="Claim under this session instead of a new one.")
@click.option(
    "--expiry", metavar="DURATION", default="15m", show_default=True, help="Unsettled items are free again after this."
)
@json_option
@click.pass_obj
def claim(invocation: Invocation, /, *, name: str, limit: int, known: str | None, expiry: str, as_json: bool) -> int:
    """Claim items for a script; settle them with `rowlock ack`.

    The first line is the session and the claim's token, separated by a tab; the keys follow, one on each line. Items
    that are not settled before the expiry are handed out again. Exits with 6 if nothing is ready.
    """
    with invocation.open() as engine:
        engine.upkeep()  # where only scripts work, nothing else frees the items of expired sessions
        session = engine.rejoin(known, expiry=expiry) if known else engine.session(expiry=expiry, beats=False)
        if known is None:
            session.open()
        else:
            session.beat()
        taken = session.take(name, limit=limit)
        # The session of a worker may live past its deadline: it must be watched until its next heartbeat is due.
        if taken is None and engine.upkeep(wait=UPKEEP_WAIT_SECONDS).expired:
            taken = session.take(name, limit=limit)
        if taken is None:
            info = engine[name].info()  # nothing ready is no error, but a list that does not exist is
            if known is None:
                session.close()
            invocation.say(held_by_another(info) or f"nothing of {name} is ready")
            return NOTHING_TO_DO
    _write_claim(session, taken, as_json=as_json)
    return 0


def held_by_another(info: ListInfo) -> str:
    """Return a sentence that names the holder of an exclusive list; nothing if it has none."""
    held = info.settings.exclusive and info.holder
    return f"{info.name} is exclusive, and {info.holder} has it" if held else ""


def _write_claim(session: Session, taken: Claim, *, as_json: bool) -> None:
    if as_json:
        items = list(taken)
        output.document({"session": session.id, "token": taken.token, "list": taken.taken.list, "items": items})
        return
    output.lines([(session.id, taken.token)])
    shown = output.visible if on_terminal() else str
    output.lines([(shown(item.key),) for item in taken])


@command("ack")
@click.argument("token")
@click.argument("keys", metavar="[KEY]...|-", nargs=-1)
@click.option("--session", "known", metavar="ID", required=True, help="The session that claimed them.")
@click.option("--retry", "retried", metavar="KEY", multiple=True, help="This one is to be tried again; repeatable.")
@click.option("--fail", "failed", metavar="KEY", multiple=True, help="This one has failed for good; repeatable.")
@click.option("--error", default="", metavar="TEXT", help="The error message of all that failed.")
@click.option("--all", "everything", is_flag=True, help="All others of the claim are done.")
@click.option("--close", is_flag=True, help="Close the session; items that are not settled are free at once.")
@json_option
@click.pass_obj
def ack(invocation: Invocation, /, *, token: str, known: str, close: bool, as_json: bool, **options: Any) -> int:
    """Settle claimed items: each KEY is done.

    Items that are not named stay claimed until the expiry. In a pipe each line is a key and its verdict: done, retried,
    failed, or gone if it was taken off the list meanwhile. Exits with 4 if the claim has expired.
    """
    keys = keys_from(options["keys"]) if options["keys"] == (STDIN,) else list(options["keys"])
    named = [*keys, *options["retried"], *options["failed"]]
    _check_named(named, anything=bool(named or options["everything"] or close))
    with invocation.open() as engine:
        session = engine.rejoin(known)
        verdicts = _settle(session, token, keys, options) if named or options["everything"] else {}
        if close:
            session.close()
    _report_verdicts(invocation, verdicts, as_json=as_json)
    return 0


def _check_named(named: Sequence[str], *, anything: bool) -> None:
    twice = next((key for key in named if named.count(key) > 1), None)
    if twice is not None:
        raise Invalid(f"each key must be named once, got {twice!r} twice", "an item has one outcome")
    if not anything:
        raise Invalid("ack needs at least one key, --all or --close, got none", "name the keys that are done")


def _settle(session: Session, token: str, keys: Sequence[str], options: dict[str, Any]) -> dict[str, Verdict]:
    claim = session.held(token)
    unsettled = {item.key: item for item in claim}
    for key in keys:
        _note(unsettled.pop(key, None), claim.done)
    for key in options["retried"]:
        _note(unsettled.pop(key, None), claim.retry, options["error"])
    for key in options["failed"]:
        _note(unsettled.pop(key, None), claim.fail, options["error"])
    if options["everything"]:
        for item in unsettled.values():
            claim.done(item)
    named = (*keys, *options["retried"], *options["failed"])
    return {**dict.fromkeys(named, Verdict.GONE), **claim.settle(close=False)}


def _note(item: Item | None, outcome: Any, *error: str) -> None:
    if item is not None:
        outcome(item, *error)


def _report_verdicts(invocation: Invocation, verdicts: dict[str, Verdict], *, as_json: bool) -> None:
    if as_json:
        output.document({"verdicts": verdicts})
    elif not on_terminal():
        output.lines([] if invocation.quiet else verdicts.items())
    else:
        counts = {verdict: list(verdicts.values()).count(verdict) for verdict in Verdict}
        invocation.say(", ".join(f"{verdict} {count:,}" for verdict, count in counts.items() if count) or "closed")


@command("sessions")
@json_option
@click.pass_obj
def sessions(invocation: Invocation, *, as_json: bool) -> None:
    """Show open sessions: since when, until when, and how many items each has claimed.

    The last column names its exclusive lists, separated by commas in a pipe.
    """
    with invocation.open() as engine:
        found = engine.sessions()
    headings = ("HOLDER", "SINCE", "EXPIRES", "CLAIMS", "ITEMS", "LISTS")
    cells = [[*map(str, _session_row(each)), _first_names(each.leases)] for each in found]
    output.rows(
        invocation,
        {"sessions": [_session_document(each) for each in found]},
        as_json=as_json,
        piped=((each.id, *_session_row(each), ",".join(each.leases)) for each in found),
        table=output.Table(headings, cells, numeric=(3, 4)),
        empty="no session is open",
    )


def _session_row(info: SessionInfo) -> tuple[object, ...]:
    times = output.format_time(info.opened_at), output.format_time(info.expires_at)
    return info.holder, *times, info.claims, info.items


def _first_names(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMES_SHOWN
    return ", ".join(names[:MAX_NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _session_document(info: SessionInfo) -> dict[str, object]:
    # The details hold what was handed to scripts: plumbing, not data for a reader.
    return {name: value for name, value in msgspec.structs.asdict(info).items() if name != "details"}
