"""`rowlock claim`, `ack` and `sessions`: the raw verbs, for scripts that do the work themselves."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.exits import NOTHING_TO_DO
from rowlock.cli.input import STDIN, keys_from
from rowlock.cli.invocation import Invocation, command, list_argument, on_terminal
from rowlock.engine import Claim, Engine, Session
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid
from rowlock.model import Item, ListInfo
from rowlock.outcomes import Verdict
from rowlock.sessions import SessionInfo

WATCH_SECONDS = 10
"""How long a command may watch sessions that look dead: enough for those of workers with the default expiry."""
json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
SHOWN = 5


@command("claim")
@list_argument()
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=1, show_default=True, help="So many at most.")
@click.option("--session", "known", metavar="ID", help="Claim under this session instead of a new one.")
@click.option(
    "--expiry", metavar="WHILE", default="15m", show_default=True, help="When it is free again if not settled."
)
@json_option
@click.pass_obj
def claim(invocation: Invocation, /, *, name: str, limit: int, known: str | None, expiry: str, as_json: bool) -> int:
    """Claim items for a script; settle them with `rowlock ack`.

    The first line is the session and the claim's token, separated by a tab; then come the keys, one to a line. What is
    not settled before the expiry goes to others. Ends with 6 if nothing is ready.
    """
    with invocation.open() as engine:
        if isinstance(engine, Engine):
            engine.upkeep()  # where only scripts work, nobody else looks for what has expired; a server does
        session = _session(
            engine.rejoin(known, expiry=expiry) if known else engine.session(expiry=expiry, beats=False), known
        )
        taken = session.take(name, limit=limit) or _take_of_the_dead(engine, session, name, limit=limit)
        if taken is None:
            info = engine[name].info()  # nothing ready is one thing, no list another
            if known is None:
                session.close()
            invocation.say(held_by_another(info) or f"nothing of {name} is ready")
            return NOTHING_TO_DO
    _write(session, taken, as_json=as_json)
    return 0


def _take_of_the_dead(engine: Handles, session: Session, name: str, *, limit: int) -> Claim | None:
    # A worker's session whose deadline has passed may live: it must be watched until it would have beaten.
    if isinstance(engine, Engine) and engine.upkeep(wait=WATCH_SECONDS).expired:
        return session.take(name, limit=limit)
    return None


def held_by_another(info: ListInfo) -> str:
    """Whose an exclusive list is, in a sentence; nothing if it is nobody's."""
    held = info.settings.exclusive and info.holder
    return f"{info.name} is exclusive, and {info.holder} has it" if held else ""


def _session(session: Session, known: str | None) -> Session:
    if known is None:
        return session.open()
    session.beat()
    return session


def _write(session: Session, taken: Claim, *, as_json: bool) -> None:
    if as_json:
        items = [output.item_document(item) for item in taken]
        output.document({"session": session.id, "token": taken.token, "list": taken.taken.list, "items": items})
        return
    output.lines([(session.id, taken.token)])
    shown = output.visible if on_terminal() else str
    output.lines([(shown(item.key),) for item in taken])


@command("ack")
@click.argument("token")
@click.argument("keys", metavar="[KEY]...|-", nargs=-1)
@click.option("--session", "known", metavar="ID", required=True, help="The session that claimed them.")
@click.option(
    "--retry", "retried", metavar="KEY", multiple=True, help="This one shall be tried again; may be repeated."
)
@click.option("--fail", "failed", metavar="KEY", multiple=True, help="This one has failed for good; may be repeated.")
@click.option("--error", default="", metavar="TEXT", help="What went wrong, of all that failed.")
@click.option("--all", "everything", is_flag=True, help="All others of the claim are done.")
@click.option("--close", is_flag=True, help="End the session; what is not settled is free at once.")
@json_option
@click.pass_obj
def ack(invocation: Invocation, /, *, token: str, known: str, close: bool, as_json: bool, **options: Any) -> int:
    """Settle items that were claimed: KEYs are done.

    What is not named stays claimed until the expiry. In a pipe each line is a key and what became of it: done, retried,
    failed, or gone if somebody has taken it off the list meanwhile. Ends with 4 if the claim is no more.
    """
    keys = keys_from(options["keys"]) if options["keys"] == (STDIN,) else list(options["keys"])
    named = [*keys, *options["retried"], *options["failed"]]
    _refuse_confusion(named, anything=bool(named or options["everything"] or close))
    with invocation.open() as engine:
        session = engine.rejoin(known)
        verdicts = _settle(session, token, keys, options) if named or options["everything"] else {}
        if close:
            session.close()
    _report(invocation, verdicts, as_json=as_json)
    return 0


def _refuse_confusion(named: Sequence[str], *, anything: bool) -> None:
    twice = next((key for key in named if named.count(key) > 1), None)
    if twice is not None:
        raise Invalid(f"{twice!r} is named twice", "an item has one outcome")
    if not anything:
        raise Invalid("nothing was said of any item", "name keys, or say --all, or --close")


def _settle(session: Session, token: str, keys: Sequence[str], options: dict[str, Any]) -> dict[str, Verdict]:
    claim = session.held(token)
    there = {item.key: item for item in claim}
    for key in keys:
        _say(there.pop(key, None), claim.done)
    for key in options["retried"]:
        _say(there.pop(key, None), claim.retry, options["error"])
    for key in options["failed"]:
        _say(there.pop(key, None), claim.fail, options["error"])
    if options["everything"]:
        for item in there.values():
            claim.done(item)
    named = (*keys, *options["retried"], *options["failed"])
    return {**dict.fromkeys(named, Verdict.GONE), **claim.settle(close=False)}


def _say(item: Item | None, verb: Any, *words: str) -> None:
    if item is not None:
        verb(item, *words)


def _report(invocation: Invocation, verdicts: dict[str, Verdict], *, as_json: bool) -> None:
    if as_json:
        output.document({"verdicts": verdicts})
    elif not on_terminal():
        output.lines([] if invocation.quiet else verdicts.items())
    else:
        counted = {verdict: list(verdicts.values()).count(verdict) for verdict in Verdict}
        invocation.say(", ".join(f"{verdict} {count:,}" for verdict, count in counted.items() if count) or "closed")


@command("sessions")
@json_option
@click.pass_obj
def sessions(invocation: Invocation, *, as_json: bool) -> None:
    """Show who is at work: each session, since when, until when, and how much it has in hand.

    Last come the exclusive lists that it has, in a pipe separated by commas.
    """
    with invocation.open() as engine:
        found = engine.sessions()
    if as_json:
        output.document({"sessions": [_session_document(each) for each in found]})
    elif not on_terminal():
        output.lines((each.id, *_session_row(each), ",".join(each.leases)) for each in found)
    elif found:
        headings = ("HOLDER", "SINCE", "EXPIRES", "CLAIMS", "ITEMS", "LISTS")
        rows = [[*map(str, _session_row(each)), _some(each.leases)] for each in found]
        output.table(headings, rows, numeric=(3, 4))
    else:
        invocation.say("nobody is at work")


def _session_row(info: SessionInfo) -> tuple[object, ...]:
    return info.holder, _spoken(info.opened_at), _spoken(info.expires_at), info.claims, info.items


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _session_document(info: SessionInfo) -> dict[str, object]:
    # What scripts were handed is kept in the details: no news for a reader.
    return {name: value for name, value in msgspec.structs.asdict(info).items() if name != "details"}


def _spoken(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
