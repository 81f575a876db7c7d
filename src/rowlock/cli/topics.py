"""`rowlock topic`, `subscribe`, `publish` and `notifications`: standing queries and records."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import click
import msgspec

from rowlock.cli import output, predicate_syntax
from rowlock.cli.exits import StopSignals
from rowlock.cli.invocation import HELP, Invocation, command, on_terminal
from rowlock.cli.logs import log_option, show_logs
from rowlock.cli.progress import Terminal
from rowlock.engine import Topic
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid, InvalidField, InvalidRecord, RowlockError
from rowlock.list_limits import MAX_ATTEMPTS
from rowlock.model import Item, Notification, Published, Subscription, TopicInfo
from rowlock.outcomes import Outcome, Verdict
from rowlock.processors import secrets_in
from rowlock.topics.records import MATCH
from rowlock.worker import Worker

PAGE = 1_000
AT_ONCE = 10_000
json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
RECORDS_AT_ONCE = 1_000


def _names(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    try:
        with context.ensure_object(Invocation).open() as engine:
            return [info.name for info in engine.topics() if info.name.startswith(incomplete)]
    except RowlockError:  # completion has nobody to tell
        return []


topic_argument = click.argument("name", metavar="TOPIC", shell_complete=_names)
words_argument = click.argument("words", metavar="[PREDICATE]...", nargs=-1)


@click.group("topic", context_settings=HELP)
def topic() -> None:
    """Topics: standing queries, and the records that are held against them.

    Define one, subscribe to it, publish to it; `rowlock topic deliver` tells those who subscribed.
    """


@command("define")
@topic_argument
@click.argument("fields", metavar="[FIELD=KIND]...", nargs=-1)
@click.option("--keep-for", metavar="WHILE", help="How long its history is kept: 90d.")
@json_option
@click.pass_obj
def define(invocation: Invocation, *, name: str, fields: tuple[str, ...], keep_for: str | None, as_json: bool) -> None:
    """Make a topic, or add fields to it: text, integer, number, boolean or date."""
    kinds = {}
    for each in fields:
        field, equals, kind = each.partition("=")
        if not equals:
            raise InvalidField(f"{each!r} is not FIELD=KIND", "write it like series=text", field=each)
        kinds[field] = kind
    with invocation.open(make=True) as engine, invocation.acting():
        info = engine.topic(name).define(kinds, keep_for=keep_for)
    _tell(invocation, info, as_json=as_json)


def _tell(invocation: Invocation, info: TopicInfo, *, as_json: bool, **more: int) -> None:
    if as_json:
        output.document({**msgspec.structs.asdict(info), **more})
    elif not invocation.quiet:
        output.lines([*info.fields.items(), ("keep_for", info.keep_for), *more.items()])


@command("show")
@topic_argument
@json_option
@click.pass_obj
def show(invocation: Invocation, *, name: str, as_json: bool) -> None:
    """Show a topic's fields, how many have subscribed, and how many deliveries have failed."""
    with invocation.open() as engine:
        found = engine.topic(name)
        info, counts = found.info(), {"subscriptions": found.count(), "failed": found.failed()}
    _tell(invocation, info, as_json=as_json, **counts)


@command("ls")
@json_option
@click.pass_obj
def ls(invocation: Invocation, *, as_json: bool) -> None:
    """List all topics with their fields, by name."""
    with invocation.open() as engine:
        found = list(_every(engine))
    rows = [(info.name, " ".join(f"{name}={kind}" for name, kind in info.fields.items())) for info in found]
    if as_json:
        output.document({"topics": found})
    elif not on_terminal():
        output.lines(rows)
    elif rows:
        output.table(("TOPIC", "FIELDS"), rows)
    else:
        invocation.say("there are no topics yet; begin with: rowlock topic define NAME FIELD=KIND")


def _every(engine: Handles) -> Iterator[TopicInfo]:
    after = ""
    while page := engine.topics(after=after, limit=PAGE):
        yield from page
        after = page[-1].name


@command("subscriptions")
@topic_argument
@click.option("--subscriber", metavar="WHO", help="Only those of one.")
@json_option
@click.pass_obj
def subscriptions(invocation: Invocation, *, name: str, subscriber: str | None, as_json: bool) -> None:
    """List who has subscribed to what: number, subscriber and predicates."""
    with invocation.open() as engine:
        found = _subscriptions(engine.topic(name), subscriber)
        if as_json:
            output.document({"subscriptions": list(found)})
        else:
            output.lines((each.id, each.subscriber, _json(each.predicates)) for each in found)


def _subscriptions(found: Topic, subscriber: str | None) -> Iterator[Subscription]:
    after = 0
    while page := found.subscriptions(subscriber=subscriber, after=after, limit=PAGE):
        yield from page
        after = page[-1].id


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


@command("retry")
@topic_argument
@json_option
@click.pass_obj
def retry(invocation: Invocation, *, name: str, as_json: bool) -> None:
    """Try again to tell all who could not be told."""
    with invocation.open() as engine, invocation.acting():
        count = engine.topic(name).retry()
    sentence = f"{output.plural(count, 'delivery').replace('deliverys', 'deliveries')} will be tried again"
    output.numbers(invocation, {"retried": count}, sentence=sentence, as_json=as_json)


@command("subscribe")
@topic_argument
@click.argument("subscriber", metavar="[SUBSCRIBER]", required=False)
@words_argument
@click.option("--predicates", metavar="JSON", help="""As one object: '{"issue": {"from": 1}}'.""")
@click.option("--ndjson", is_flag=True, help="Many, from standard input: subscriber and predicates to a line.")
@json_option
@click.pass_obj
def subscribe(invocation: Invocation, /, *, name: str, subscriber: str | None, as_json: bool, **given: Any) -> None:
    """Subscribe somebody to records that fulfil all predicates, and print the subscription's number.

    FIELD=VALUE, given several times for any of several values; FIELD^=BEGINNING; 'FIELD>=N', '>', '<=', '<'. Without
    any, to everything. To ask for the same again changes nothing.
    """
    if (subscriber is None) is not given["ndjson"]:
        raise Invalid("nobody is named to subscribe, or twice", "give SUBSCRIBER, or --ndjson and lines on stdin")
    with invocation.open() as engine:
        found = engine.topic(name)
        if given["ndjson"]:
            numbers = [each for some in _subscription_lines() for each in found.subscribe_many(some)]
        else:
            asked = predicate_syntax.predicates(found.info().fields, given["words"], given=given["predicates"])
            numbers = [found.subscribe(subscriber or "", asked)]
    if as_json:
        output.document({"subscriptions": numbers})
    else:
        output.lines((number,) for number in numbers)


def _subscription_lines() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    some: list[tuple[str, dict[str, Any]]] = []
    for number, wish in predicate_syntax.lines():
        if not isinstance(wish, dict) or not isinstance(wish.get("predicates", {}), dict) or "subscriber" not in wish:
            hint = """write {"subscriber": "ann", "predicates": {"issue": 1}}"""
            raise Invalid(f"line {number} names no subscriber and predicates", hint)
        some.append((wish["subscriber"], wish.get("predicates", {})))
        if len(some) == AT_ONCE:
            yield some
            some = []
    if some:
        yield some


@command("unsubscribe")
@topic_argument
@click.argument("subscriber", metavar="[SUBSCRIBER]", required=False)
@words_argument
@click.option("--predicates", metavar="JSON", help="The same as one object.")
@click.option("--id", "number", type=int, metavar="N", help="The subscription of this number instead.")
@json_option
@click.pass_obj
def unsubscribe(invocation: Invocation, /, *, name: str, subscriber: str | None, as_json: bool, **given: Any) -> None:
    """Take back all that somebody has subscribed to, or the one to these predicates."""
    number = given["number"]
    if (subscriber is None) is (number is None):
        raise Invalid("nobody is named to unsubscribe, or twice", "give SUBSCRIBER, or --id N")
    with invocation.open() as engine:
        found = engine.topic(name)
        if number is not None:
            count = found.unsubscribe(number)
        elif given["words"] or given["predicates"]:
            asked = predicate_syntax.predicates(found.info().fields, given["words"], given=given["predicates"])
            count = found.unsubscribe(subscriber or "", asked)
        else:
            count = found.unsubscribe(subscriber or "")
    sentence = f"took back {output.plural(count, 'subscription')}"
    output.numbers(invocation, {"unsubscribed": count}, sentence=sentence, as_json=as_json)


for each in (define, show, ls, subscriptions, retry):
    topic.add_command(each)


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
            record = predicate_syntax.record(fields, words, given=given["record"])
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
    lines = predicate_syntax.lines()
    while some := list(islice(lines, RECORDS_AT_ONCE)):
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


@command("deliver")
@topic_argument
@click.option("--to", required=True, metavar="WHERE", help="https://…, smtp://…, maildir:… or 'subscriber'.")
@click.option("--sender", metavar="ADDRESS", help="Whom mails come from.")
@click.option("--secret-env", metavar="VARIABLE", multiple=True, help="The variable that holds the signing secret.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="A private host that requests may go to.")
@click.option("--attempts", type=click.IntRange(0, MAX_ATTEMPTS), help="How often each is tried, 0 for no limit.")
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
    terminal = Terminal(quiet=invocation.quiet)
    show_logs(invocation, form=log_format, write=terminal.write)
    with invocation.open() as engine:
        found = engine.topic(name)
        found.info()
        worker = Worker(engine, concurrency=concurrency)
        told = DeliveryCounts(worker)
        tell = _way(given, invocation.allowed_hosts(given["allow_host"]))
        terms = {name: given[name] for name in ("attempts", "backoff", "in_memory")}
        found.deliver(worker, tell, **terms)
        terminal.say(f"telling those who subscribed to {name}; Ctrl-C stops")

        def stop(now: bool) -> None:  # noqa: FBT001
            worker.stop(now=now)

        with StopSignals(stop) as stopping:
            worker.run(until="done" if given["once"] else "stopped", signals=False)
        terminal.say(told.summary())
        failed = found.failed() if given["once"] else 0
        if failed:
            terminal.say(f"{failed:,} could not be told; try them again with: rowlock topic retry {name}")
    return stopping.status or (1 if failed else 0)


class DeliveryCounts:
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
        matched = output.plural(self._settled[True, Verdict.DONE], "record")
        return f"{matched} matched · told {told:,} · failed {failed:,} · retried {retried:,}"


def _way(given: dict[str, Any], allow: list[str]) -> Callable[[Notification], Any]:
    from rowlock.delivery.mail import Mail  # mail and HTTP are heavy, and only who sends needs them
    from rowlock.delivery.webhooks import Webhook

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
