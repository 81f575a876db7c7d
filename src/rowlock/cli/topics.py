"""`rowlock topic`, `subscribe`, `unsubscribe`, `publish` and `notifications`: standing queries and records."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import click
import msgspec

from rowlock.cli import output, predicate_syntax
from rowlock.cli.input import json_lines_of_stdin
from rowlock.cli.invocation import SOME_FAILED, Invocation, command, every, group, json_option, named_argument
from rowlock.cli.output import Column
from rowlock.cli.progress import VerdictCounts
from rowlock.cli.terminal import StopSignals, Terminal, log_option, show_logs
from rowlock.engine import Topic
from rowlock.errors import Invalid, InvalidField, InvalidRecord
from rowlock.model import Notification, Published, TopicInfo
from rowlock.names import plural
from rowlock.outcomes import Verdict
from rowlock.retry_policy import DEFAULT_ATTEMPTS, DEFAULT_BACKOFF
from rowlock.settings import MAX_ATTEMPTS, secrets_in
from rowlock.topics.records import MATCH

SUBSCRIPTIONS_PER_TRANSACTION = 10_000
RECORDS_PER_TRANSACTION = 1_000
TOPIC_COLUMNS = (
    Column("TOPIC", "name"),
    Column("FIELDS", lambda info: " ".join(f"{name}={kind}" for name, kind in info.fields.items())),
)
NOTIFICATION_COLUMNS = (
    Column("NUMBER", lambda notification: str(notification.number)),
    Column("SUBSCRIBER", "subscriber"),
    Column("RECORD", lambda notification: str(notification.record_id)),
    Column("DELIVERED", "delivered_at"),
    Column("WHY", "predicates"),
    Column("WHAT", "record"),
)

topic_argument = named_argument("name", "TOPIC", names=lambda engine: engine.topics())
terms_argument = click.argument("terms", metavar="[PREDICATE]...", nargs=-1)


@group("topic")
def topic() -> None:
    """Topics: standing queries, and the records that match them.

    Define one, subscribe to it, publish to it; `rowlock topic deliver` notifies subscribers.
    """


@topic.command("define")
@topic_argument
@click.argument("fields", metavar="[FIELD=KIND]...", nargs=-1)
@click.option("--keep-for", metavar="DURATION", help="How long its history is kept: 90d.")
@json_option
def define(invocation: Invocation, *, name: str, fields: tuple[str, ...], keep_for: str | None) -> None:
    """Create a topic, or add fields to it: text, integer, number, boolean or date."""
    kinds = {}
    for each in fields:
        field, equals, kind = each.partition("=")
        if not equals:
            raise InvalidField(f"a field must be FIELD=KIND, got {each!r}", "write it like series=text", field=each)
        kinds[field] = kind
    with invocation.open(create=True) as engine, invocation.acting():
        info = engine.topic(name).define(kinds, keep_for=keep_for)
    _show_topic(invocation, info)


def _show_topic(invocation: Invocation, info: TopicInfo, **counts: int) -> None:
    if invocation.as_json:
        output.document({**msgspec.structs.asdict(info), **counts})
    elif not invocation.quiet:
        output.lines([*info.fields.items(), ("keep_for", info.keep_for), *counts.items()])


@topic.command("show")
@topic_argument
@json_option
def show(invocation: Invocation, *, name: str) -> None:
    """Show a topic's fields, its number of subscriptions, and of failed deliveries."""
    with invocation.open() as engine:
        handle = engine.topic(name)
        info, counts = handle.info(), {"subscriptions": handle.count(), "failed": handle.failed()}
    _show_topic(invocation, info, **counts)


@topic.command("ls")
@json_option
def ls(invocation: Invocation) -> None:
    """List all topics with their fields, by name."""
    with invocation.open() as engine:
        topics = list(every(engine.topics))
    empty = "there are no topics yet; begin with: rowlock topic define NAME FIELD=KIND"
    output.table(invocation, {"topics": topics}, rows=topics, columns=TOPIC_COLUMNS, empty=empty)


@topic.command("subscriptions")
@topic_argument
@click.option("--subscriber", metavar="NAME", help="Only those of one subscriber.")
@json_option
def subscriptions(invocation: Invocation, *, name: str, subscriber: str | None) -> None:
    """List subscriptions: number, subscriber and predicates."""
    with invocation.open() as engine:
        each = every(partial(engine.topic(name).subscriptions, subscriber=subscriber), by="id", after=0)
        if invocation.as_json:
            output.document({"subscriptions": list(each)})
        else:
            output.lines((subscription.id, subscription.subscriber, subscription.predicates) for subscription in each)


@topic.command("retry")
@topic_argument
@json_option
def retry(invocation: Invocation, *, name: str) -> None:
    """Retry all failed deliveries."""
    with invocation.open() as engine, invocation.acting():
        count = engine.topic(name).retry()
    sentence = f"{plural(count, 'delivery')} will be tried again"
    output.result(invocation, {"retried": count}, sentence=sentence)


@command("subscribe")
@topic_argument
@click.argument("subscriber", metavar="[SUBSCRIBER]", required=False)
@terms_argument
@click.option("--predicates", metavar="JSON", help="""All predicates as one object: '{"issue": {"from": 1}}'.""")
@click.option("--ndjson", is_flag=True, help="Many, from standard input: subscriber and predicates on each line.")
@json_option
def subscribe(invocation: Invocation, /, *, name: str, subscriber: str | None, **options: Any) -> None:
    """Subscribe to records that match all predicates, and print the subscription's number.

    FIELD=VALUE, given several times for any of several values; FIELD^=PREFIX; 'FIELD>=N', '>', '<=', '<'. Without
    predicates every record matches. Subscribing to the same again changes nothing.
    """
    if (subscriber is None) is not options["ndjson"]:
        raise Invalid("subscribe needs either SUBSCRIBER or --ndjson", "with --ndjson each line names its subscriber")
    with invocation.open() as engine:
        handle = engine.topic(name)
        if options["ndjson"]:
            numbers = [each for batch in _subscription_batches() for each in handle.subscribe_many(batch)]
        else:
            numbers = [handle.subscribe(subscriber or "", _predicates(handle, options))]
    if invocation.as_json:
        output.document({"subscriptions": numbers})
    else:
        output.lines((number,) for number in numbers)


def _predicates(handle: Topic, options: dict[str, Any]) -> dict[str, Any]:
    return predicate_syntax.predicates(handle.info().fields, options["terms"], document=options["predicates"])


def _subscription_batches() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    lines = json_lines_of_stdin()
    while batch := list(islice(lines, SUBSCRIPTIONS_PER_TRANSACTION)):
        yield [_subscription(number, line) for number, line in batch]


def _subscription(number: int, line: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(line, dict) and "subscriber" in line and isinstance(line.get("predicates", {}), dict):
        return line["subscriber"], line.get("predicates", {})
    hint = """write {"subscriber": "ann", "predicates": {"issue": 1}}"""
    raise Invalid(f"line {number} must be an object with subscriber and predicates", hint)


@command("unsubscribe")
@topic_argument
@click.argument("subscriber", metavar="[SUBSCRIBER]", required=False)
@terms_argument
@click.option("--predicates", metavar="JSON", help="All predicates as one object.")
@click.option("--id", "number", type=int, metavar="N", help="The subscription of this number instead.")
@json_option
def unsubscribe(invocation: Invocation, /, *, name: str, subscriber: str | None, **options: Any) -> None:
    """Remove all subscriptions of a subscriber, or the one with these predicates."""
    number = options["number"]
    if (subscriber is None) is (number is None):
        raise Invalid("unsubscribe needs either SUBSCRIBER or --id", "give one of them")
    with invocation.open() as engine:
        handle = engine.topic(name)
        if number is not None:
            count = handle.unsubscribe(number)
        elif options["terms"] or options["predicates"]:
            count = handle.unsubscribe(subscriber or "", _predicates(handle, options))
        else:
            count = handle.unsubscribe(subscriber or "")
    sentence = f"removed {plural(count, 'subscription')}"
    output.result(invocation, {"unsubscribed": count}, sentence=sentence)


@command("publish")
@topic_argument
@click.argument("terms", metavar="[FIELD=VALUE]...", nargs=-1)
@click.option("--record", metavar="JSON", help="The record as one object.")
@click.option("--key", metavar="KEY", help="No subscriber is notified twice of records with one key.")
@click.option("--ndjson", is_flag=True, help="Many, from standard input: one record on each line.")
@click.option("--partial", is_flag=True, help="Of many, publish those that are valid.")
@json_option
def publish(invocation: Invocation, /, *, name: str, terms: tuple[str, ...], **options: Any) -> int:
    """Publish a record to all who are subscribed when it commits, and print its number.

    With --ndjson a thousand lines are one transaction. An invalid record ends it, and is named; with --partial its
    error is printed on stderr, and the exit code is 1.
    """
    if options["ndjson"] and (terms or options["record"] or options["key"]):
        raise Invalid("--ndjson cannot be combined with a record or --key", "give one of them")
    with invocation.open() as engine:
        handle = engine.topic(name)
        if options["ndjson"]:
            done = list(_publish_lines(handle, partial=options["partial"]))
        else:
            fields = handle.info().fields
            if fields and not terms and options["record"] is None:
                raise InvalidRecord("publish needs at least one FIELD=VALUE", f"give a value: {next(iter(fields))}=…")
            record = predicate_syntax.record(fields, terms, document=options["record"])
            done = [(1, Published(handle.publish(record, key=options["key"])))]
    invalid = [(line, each.error) for line, each in done if each.id is None]
    for line, error in invalid:
        click.echo(f"line {line}: {error}", err=True)
    if invocation.as_json:
        output.document({"published": [each.id for _, each in done]})
    else:
        output.lines((each.id,) for _, each in done if each.id is not None)
    return SOME_FAILED if invalid else 0


def _publish_lines(handle: Topic, *, partial: bool) -> Iterator[tuple[int, Published]]:
    lines = json_lines_of_stdin()
    while batch := list(islice(lines, RECORDS_PER_TRANSACTION)):
        numbers = [number for number, _ in batch]
        try:
            done = handle.publish_many([record for _, record in batch], partial=partial)
        except InvalidRecord as error:
            place = error.fields.get("record")
            where = f"line {numbers[place - 1]}: " if isinstance(place, int) else ""
            raise InvalidRecord(f"{where}{error.what.partition(': ')[2] or error.what}", error.hint) from None
        yield from zip(numbers, done, strict=True)


@command("notifications")
@topic_argument
@click.option("--subscriber", metavar="NAME", help="Only those of one subscriber.")
@click.option("--delivered/--undelivered", default=None, help="Only those that were delivered, or were not.")
@click.option("--before", type=int, metavar="N", help="Only numbers below N.")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Maximum of rows.")
@json_option
def notifications(invocation: Invocation, /, *, name: str, **options: Any) -> None:
    """Show notifications, the newest first, each with the predicates that matched.

    In a pipe each line is number, subscriber, the record's number, when it was delivered, predicates and record.
    """
    with invocation.open() as engine:
        notifications = engine.topic(name).notifications(**options)
    value, empty = {"notifications": notifications}, "there are no notifications"
    output.table(invocation, value, rows=notifications, columns=NOTIFICATION_COLUMNS, empty=empty)


@topic.command("deliver")
@topic_argument
@click.option("--to", required=True, metavar="ADDRESS", help="https://…, smtp://…, maildir:… or 'subscriber'.")
@click.option("--sender", metavar="ADDRESS", help="The sender of mails.")
@click.option("--secret-env", metavar="VARIABLE", multiple=True, help="The variable that holds the signing secret.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="A private host that requests may go to.")
@click.option(
    "--attempts",
    type=click.IntRange(0, MAX_ATTEMPTS),
    show_default=str(DEFAULT_ATTEMPTS),
    help="Attempts for each, 0 for no limit.",
)
@click.option(
    "--backoff",
    metavar="FROM..TO",
    show_default=DEFAULT_BACKOFF,
    help="The first and longest wait after a failure.",
)
@click.option("-j", "concurrency", type=click.IntRange(1), default=16, show_default=True, help="Deliveries at once.")
@click.option("--in-memory", is_flag=True, help="Match in memory: faster with very many subscriptions.")
@click.option("--once", is_flag=True, help="Exit when everything has been delivered.")
@log_option
def deliver(invocation: Invocation, /, *, name: str, log_format: str, concurrency: int, **options: Any) -> int:
    """Notify subscribers: POST to an address, or to each subscriber's own; by mail; or into a maildir.

    Runs until it is stopped; with --once until everything has been delivered, and exits with 1 if a delivery failed.
    """
    from rowlock.worker import Worker  # heavy: other commands of topics start faster

    terminal = Terminal(quiet=invocation.quiet)
    show_logs(invocation, form=log_format, write=terminal.write)
    with invocation.open() as engine:
        handle = engine.topic(name)
        handle.info()
        worker = Worker(engine, concurrency=concurrency)
        matched = VerdictCounts(worker, fits=lambda item: item.gate == MATCH)
        delivered = VerdictCounts(worker, fits=lambda item: item.gate != MATCH)
        deliverer = _deliverer(options, invocation.allowed_hosts(options["allow_host"]))
        limits = {name: options[name] for name in ("attempts", "backoff", "in_memory")}
        handle.deliver(worker, deliverer, **limits)
        terminal.say(f"notifying subscribers of {name}; Ctrl-C stops")
        with StopSignals(lambda now: worker.stop(now=now)) as signals:
            worker.run(until="done" if options["once"] else "stopped", signals=False)
        records = plural(matched[Verdict.DONE], "record")
        terminal.say(f"{records} matched · {delivered.summary('delivered')}")
        failed = handle.failed() if options["once"] else 0
        if failed:
            failures = plural(failed, "delivery")
            terminal.say(f"{failures} failed; retry them with: rowlock topic retry {name}")
    return signals.status or (SOME_FAILED if failed else 0)


def _deliverer(options: dict[str, Any], allow: list[str]) -> Callable[[Notification], Any]:
    from rowlock.delivery.mail import Mail  # heavy: imported only to send
    from rowlock.delivery.webhooks import Webhook

    to = options["to"]
    if to.startswith(("smtp:", "smtps:", "maildir:")):
        if not options["sender"]:
            raise Invalid("mail needs --sender", "give --sender shop@example.org")
        return Mail(to, sender=options["sender"])
    secrets = [secret for name in options["secret_env"] for secret in secrets_in(name, os.environ)]
    webhook = Webhook(None if to == "subscriber" else to, secrets=secrets, allow=allow)
    webhook.check()
    return webhook
