"""`rowlock topic`, `subscribe`, `unsubscribe`: what records look like, and who wants to be told of which."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from rowlock.cli import output, wishes
from rowlock.cli.invocation import HELP, Invocation, command, on_terminal
from rowlock.engine import Topic
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid, InvalidField, RowlockError
from rowlock.model import Subscription, TopicInfo

PAGE = 1_000
AT_ONCE = 10_000

json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


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
    sentence = f"{output.many(count, 'delivery').replace('deliverys', 'deliveries')} will be tried again"
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
            numbers = [each for some in _wishes() for each in found.subscribe_many(some)]
        else:
            asked = wishes.predicates(found.info().fields, given["words"], given=given["predicates"])
            numbers = [found.subscribe(subscriber or "", asked)]
    if as_json:
        output.document({"subscriptions": numbers})
    else:
        output.lines((number,) for number in numbers)


def _wishes() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    some: list[tuple[str, dict[str, Any]]] = []
    for number, wish in wishes.lines():
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
            asked = wishes.predicates(found.info().fields, given["words"], given=given["predicates"])
            count = found.unsubscribe(subscriber or "", asked)
        else:
            count = found.unsubscribe(subscriber or "")
    sentence = f"took back {output.many(count, 'subscription')}"
    output.numbers(invocation, {"unsubscribed": count}, sentence=sentence, as_json=as_json)


for each in (define, show, ls, subscriptions, retry):
    topic.add_command(each)
