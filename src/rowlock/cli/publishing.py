"""`rowlock publish`, `notifications` and `topic deliver`: records, who is told of them, and how."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import click
import msgspec

from rowlock.bounds import MOST_ATTEMPTS
from rowlock.cli import output, wishes
from rowlock.cli.invocation import Invocation, command, on_terminal
from rowlock.cli.logs import log_option, show_logs
from rowlock.cli.screen import Screen
from rowlock.cli.stopping import Stopping
from rowlock.cli.topics import json_option, topic, topic_argument
from rowlock.engine import Topic
from rowlock.errors import Invalid, InvalidRecord
from rowlock.model import Item, Notification, Published
from rowlock.outcomes import Outcome, Verdict
from rowlock.processors import secrets_in
from rowlock.topics.records import MATCH
from rowlock.worker import Worker

AT_ONCE = 1_000


@command("publish")
@topic_argument
@click.argument("words", metavar="[FIELD=VALUE]...", nargs=-1)
@click.option("--record", metavar="JSON", help="The record as one object.")
@click.option("--key", metavar="KEY", help="Nobody is told twice of records with one key.")
@click.option("--ndjson", is_flag=True, help="Many, from standard input: a record to a line.")
@click.option("--partial", is_flag=True, help="Of many, publish those that are right.")
@json_option
@click.pass_obj
def publish(invocation: Invocation, /, *, name: str, words: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Publish a record: all who are subscribed when it commits are told of it. Prints its number.

    With --ndjson a thousand lines are one transaction. A record that is malformed ends it, and is named; with --partial
    it is told on stderr, and the exit is 1.
    """
    if given["ndjson"] and (words or given["record"] or given["key"]):
        raise Invalid("a record was given as well as --ndjson", "give one of them")
    with invocation.open() as engine:
        found = engine.topic(name)
        if given["ndjson"]:
            done = list(_published(found, partial=given["partial"]))
        else:
            fields = found.info().fields
            if fields and not words and given["record"] is None:
                raise InvalidRecord("nothing was given to publish", f"give a value: {next(iter(fields))}=…")
            record = wishes.record(fields, words, given=given["record"])
            done = [(1, Published(found.publish(record, key=given["key"])))]
    wrong = [(line, each.error) for line, each in done if each.id is None]
    for line, error in wrong:
        click.echo(f"line {line}: {error}", err=True)
    if as_json:
        output.document({"published": [each.id for _, each in done]})
    else:
        output.lines((each.id,) for _, each in done if each.id is not None)
    return 1 if wrong else 0


def _published(found: Topic, *, partial: bool) -> Iterator[tuple[int, Published]]:
    lines = wishes.lines()
    while some := list(islice(lines, AT_ONCE)):
        numbers = [number for number, _ in some]
        try:
            done = found.publish_many([record for _, record in some], partial=partial)
        except InvalidRecord as error:
            place = error.fields.get("record")
            where = f"line {numbers[place - 1]}: " if isinstance(place, int) else ""
            raise InvalidRecord(f"{where}{error.what.partition(': ')[2] or error.what}", error.hint) from None
        yield from zip(numbers, done, strict=True)


@command("notifications")
@topic_argument
@click.option("--subscriber", metavar="WHO", help="Only those of one.")
@click.option("--delivered/--undelivered", default=None, help="Only those that were delivered, or were not.")
@click.option("--before", type=int, metavar="N", help="Strictly before this number.")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many.")
@json_option
@click.pass_obj
def notifications(invocation: Invocation, /, *, name: str, as_json: bool, **given: Any) -> None:
    """Show who was or will be told of what, the newest first, and by which of their predicates.

    In a pipe each line is number, subscriber, the record's number, when it was delivered, predicates and record.
    """
    with invocation.open() as engine:
        found = engine.topic(name).notifications(**given)
    if as_json:
        output.document({"notifications": found})
    elif not on_terminal():
        output.lines(map(_row, found))
    elif found:
        output.table(("NUMBER", "SUBSCRIBER", "RECORD", "DELIVERED", "WHY", "WHAT"), [_cells(each) for each in found])
    else:
        invocation.say("nobody was told of anything")


def _row(each: Notification) -> tuple[Any, ...]:
    told = each.delivered_at.isoformat(timespec="seconds") if each.delivered_at else None
    return each.number, each.subscriber, each.record_id, told, _json(each.predicates), _json(each.record)


def _cells(each: Notification) -> list[str]:
    return ["" if cell is None else str(cell) for cell in _row(each)]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


@command("deliver")
@topic_argument
@click.option("--to", required=True, metavar="WHERE", help="https://…, smtp://…, maildir:… or 'subscriber'.")
@click.option("--sender", metavar="ADDRESS", help="Whom mails come from.")
@click.option("--secret-env", metavar="VARIABLE", multiple=True, help="The variable that holds the signing secret.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="A private host that requests may go to.")
@click.option("--attempts", type=click.IntRange(0, MOST_ATTEMPTS), help="How often each is tried, 0 for no limit.")
@click.option("--backoff", metavar="FROM..TO", help="How long to wait between attempts: 1s..1h.")
@click.option("-j", "concurrency", type=click.IntRange(1), default=16, show_default=True, help="So many at once.")
@click.option("--in-memory", is_flag=True, help="Match in memory: faster with very many subscriptions.")
@click.option("--once", is_flag=True, help="End when everybody has been told.")
@log_option
@click.pass_obj
def deliver(invocation: Invocation, /, *, name: str, log_format: str, concurrency: int, **given: Any) -> int:
    """Tell those who subscribed: POST to an address, or to each subscriber's own; by mail; or into a maildir.

    Goes on until it is told to stop; with --once until everybody has been told, and then exits 1 if somebody could not
    be.
    """
    screen = Screen(quiet=invocation.quiet)
    show_logs(invocation, form=log_format, write=screen.write)
    with invocation.open() as engine:
        found = engine.topic(name)
        found.info()
        worker = Worker(engine, concurrency=concurrency)
        told = Told(worker)
        tell = _way(given, invocation.allowed_hosts(given["allow_host"]))
        terms = {name: given[name] for name in ("attempts", "backoff", "in_memory")}
        found.deliver(worker, tell, **terms)
        screen.say(f"telling those who subscribed to {name}; Ctrl-C stops")

        def stop(now: bool) -> None:  # noqa: FBT001
            worker.stop(now=now)

        with Stopping(stop) as stopping:
            worker.run(until="done" if given["once"] else "stopped", signals=False)
        screen.say(told.summary())
        failed = found.failed() if given["once"] else 0
        if failed:
            screen.say(f"{failed:,} could not be told; try them again with: rowlock topic retry {name}")
    return stopping.status or (1 if failed else 0)


class Told:
    """What became of records and of those who were to be told, counted from any thread."""

    def __init__(self, worker: Worker) -> None:
        self._lock = threading.Lock()
        self._settled: Counter[tuple[bool, Verdict]] = Counter()
        worker.after(self._count)

    def _count(self, item: Item, _: Outcome, verdict: Verdict) -> None:
        with self._lock:
            self._settled[item.gate == MATCH, verdict] += 1

    def summary(self) -> str:
        """All of it, in a line."""
        told, failed, retried = (
            self._settled[False, verdict] for verdict in (Verdict.DONE, Verdict.FAILED, Verdict.RETRIED)
        )
        matched = output.many(self._settled[True, Verdict.DONE], "record")
        return f"{matched} matched · told {told:,} · failed {failed:,} · retried {retried:,}"


def _way(given: dict[str, Any], allow: list[str]) -> Callable[[Notification], Any]:
    from rowlock.deliveries.mail import Mail  # mail and HTTP are heavy, and only who sends needs them
    from rowlock.deliveries.webhooks import Webhook

    to = given["to"]
    if to.startswith(("smtp:", "smtps:", "maildir:")):
        if not given["sender"]:
            raise Invalid("mail needs somebody whom it comes from", "give --sender shop@example.org")
        return Mail(to, sender=given["sender"])
    secrets = [secret for name in given["secret_env"] for secret in secrets_in(name, os.environ)]
    tell = Webhook(None if to == "subscriber" else to, secrets=secrets, allow=allow)
    tell.check()
    return tell


topic.add_command(deliver)
