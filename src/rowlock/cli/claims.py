"""`rowlock claim`, `ack` and `sessions`: claims for scripts that do the work themselves."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.input import STDIN, keys_from
from rowlock.cli.invocation import NOTHING_TO_DO, Invocation, command, json_option, list_argument
from rowlock.cli.output import Column
from rowlock.engine import Claim, Session
from rowlock.errors import Invalid
from rowlock.model import ListInfo
from rowlock.outcomes import Verdict

UPKEEP_WAIT_SECONDS = 10
"""How long `claim` may watch sessions that look dead: enough for workers with the default expiry."""
MAX_NAMES_SHOWN = 5
SESSION_COLUMNS = (
    Column("", "id"),
    Column("HOLDER", "holder"),
    Column("SINCE", "opened_at"),
    Column("EXPIRES", "expires_at"),
    Column("CLAIMS", "claims"),
    Column("ITEMS", "items"),
    Column("LISTS", lambda session: ",".join(session.leases), lambda session: _first_names(session.leases)),
)


@command("claim")
@list_argument()
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Maximum of items.")
@click.option("--session", "known", metavar="ID", help="Claim under this session instead of a new one.")
@click.option(
    "--expiry", metavar="DURATION", default="15m", show_default=True, help="Unsettled items are free again after this."
)
@json_option
def claim(invocation: Invocation, /, *, name: str, limit: int, known: str | None, expiry: str) -> int:
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
    _write_claim(invocation, session, taken)
    return 0


def held_by_another(info: ListInfo) -> str:
    """Return a sentence that names the holder of an exclusive list; nothing if it has none."""
    held = info.settings.exclusive and info.holder
    return f"{info.name} is exclusive, and {info.holder} has it" if held else ""


def _write_claim(invocation: Invocation, session: Session, taken: Claim) -> None:
    if invocation.as_json:
        items = list(taken)
        output.document({"session": session.id, "token": taken.token, "list": taken.taken.list, "items": items})
    else:
        output.lines([(session.id, taken.token)])
        output.lines([(output.visible(item.key) if output.on_terminal() else item.key,) for item in taken])


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
def ack(invocation: Invocation, /, *, token: str, keys: tuple[str, ...], known: str, **options: Any) -> None:
    """Settle claimed items: each KEY is done.

    Items that are not named stay claimed until the expiry. In a pipe each line is a key and its verdict: done, retried,
    failed, or gone if it was taken off the list meanwhile. Exits with 4 if the claim has expired.
    """
    done = keys_from(keys) if keys == (STDIN,) else keys
    outcomes = [*((key, "done") for key in done), *((key, "retry") for key in options["retried"])]
    outcomes += [(key, "fail") for key in options["failed"]]
    settles = bool(outcomes or options["everything"])
    _check_outcomes(outcomes, anything=settles or options["close"])
    with invocation.open() as engine:
        session = engine.rejoin(known)
        claim = session.held(token) if settles else None
        verdicts = {} if claim is None else _settle(claim, dict(outcomes), options["error"], options["everything"])
        if options["close"]:
            session.close()
    _report_verdicts(invocation, verdicts)


def _check_outcomes(outcomes: Sequence[tuple[str, str]], *, anything: bool) -> None:
    counts = Counter(key for key, _ in outcomes)
    if twice := next((key for key, count in counts.items() if count > 1), ""):
        raise Invalid(f"each key must be named once, got {twice!r} twice", "an item has one outcome")
    if not anything:
        raise Invalid("ack needs at least one key, --all or --close, got none", "name the keys that are done")


def _settle(claim: Claim, outcomes: dict[str, str], error: str, others_done: bool) -> dict[str, Verdict]:  # noqa: FBT001
    for item in claim:
        outcome = outcomes.get(item.key, "done" if others_done else "")
        if outcome == "done":
            claim.done(item)
        elif outcome == "retry":
            claim.retry(item, error)
        elif outcome == "fail":
            claim.fail(item, error)
    return {**dict.fromkeys(outcomes, Verdict.GONE), **claim.settle(close=False)}


def _report_verdicts(invocation: Invocation, verdicts: dict[str, Verdict]) -> None:
    if invocation.as_json:
        output.document({"verdicts": verdicts})
    elif not output.on_terminal():
        output.lines([] if invocation.quiet else verdicts.items())
    else:
        counts = {verdict: list(verdicts.values()).count(verdict) for verdict in Verdict}
        invocation.say(", ".join(f"{verdict} {count:,}" for verdict, count in counts.items() if count) or "closed")


@command("sessions")
@json_option
def sessions(invocation: Invocation) -> None:
    """Show open sessions: since when, until when, and how many items each has claimed.

    The last column names its exclusive lists, separated by commas in a pipe.
    """
    with invocation.open() as engine:
        infos = engine.sessions()
    documents = [msgspec.structs.asdict(info) for info in infos]
    for document in documents:
        del document["details"]  # what was handed to scripts: plumbing, not data for a reader
    output.table(invocation, {"sessions": documents}, rows=infos, columns=SESSION_COLUMNS, empty="no session is open")


def _first_names(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMES_SHOWN
    return ", ".join(names[:MAX_NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
