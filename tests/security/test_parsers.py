"""Every parser of what people and programs send: it returns a value or a RowlockError, and nothing else."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.torture import scaled

from rowlock import tokens, tracing
from rowlock.cli import csv_input, predicate_syntax, transfers, work_handlers
from rowlock.cli import input as cli_input
from rowlock.dashboard import item_filters
from rowlock.db import urls
from rowlock.delivery import addresses, signatures
from rowlock.durations import delay_or_time, milliseconds, parse_range
from rowlock.errors import RowlockError
from rowlock.http import compression
from rowlock.http.routes import ROUTES
from rowlock.http.routing import Router
from rowlock.http_url import parse as parse_http_url
from rowlock.item_input import ItemDefaults, batch_of_simple_lines
from rowlock.model import Settings
from rowlock.names import check_key, check_name
from rowlock.roles import read_role
from rowlock.schedules import plans
from rowlock.settings import parse_rate
from rowlock.topics import predicates
from rowlock.worker.exec import placeholders, throttle
from rowlock.worker.exec.command_template import CommandTemplate

EXAMPLES = 60
FIELDS = {"series": "text", "issue": "integer", "price": "number", "new": "boolean", "day": "date"}
MAX_WHAT_CHARACTERS = 100_000

_ODD = [
    "",
    " ",
    "0",
    "-0",
    "--5",
    "9" * 5_000,
    "1e999",
    "nan",
    "²",
    "٣",
    "\0",
    "\n",
    "\r\n",
    "\ufeff",
    "\U0010ffff",
    "%00",
    "~0",
    "a://[",
    "0\x1f/1s",
    "9" * 5_000 + "/1s",
]
_DRIVER_WORDS = re.compile(r"sqlite3?\.|psycopg|Traceback|ValueError|OverflowError")


def texts(*words: str) -> st.SearchStrategy[str]:
    """Text of anything, or of pieces that the parser knows, in any order."""
    pieces = st.sampled_from([*words, *_ODD])
    return st.one_of(st.text(max_size=200), st.lists(pieces | st.text(max_size=5), max_size=8).map("".join))


def entries(text: str) -> list[Any]:
    return list(csv_input.csv_entries(text.splitlines(keepends=True), "", header=None))


def column(text: str) -> list[Any]:
    return list(csv_input.csv_entries(["a,b\n", "1,2\n"], text))


def lines(text: str) -> list[Any]:
    return list(cli_input.json_lines([text.encode(errors="replace").split(b"\n")], "check it"))


def exported(text: str) -> Any:
    return transfers._checked(text, 1)


def cron(text: str) -> Any:
    return plans.planned("nightly", "work", cron=text).recurrence().after(0)


def zone(text: str) -> Any:
    return plans.planned("nightly", "work", cron="0 0 * * *", zone=text)


def scheduled_key(text: str) -> Any:
    return plans.planned("nightly", "work", every="1h", key=text)


def template(text: str) -> Any:
    return CommandTemplate((text,)), placeholders.pieces(text)


def shell_line(text: str) -> Any:
    return CommandTemplate((text,), shell=True)


def predicate(text: str) -> Any:
    return predicates.canonical(FIELDS, predicate_syntax.predicates(FIELDS, [text], document=None))


def predicate_document(text: str) -> Any:
    return predicates.canonical(FIELDS, predicate_syntax.predicates(FIELDS, [], document=text))


def plain_lines(text: str) -> Any:
    return batch_of_simple_lines(text.encode(errors="replace"), ItemDefaults())


def routed(text: str) -> Any:
    return Router(ROUTES).match("GET", text.encode(errors="replace"))


PARSERS: dict[str, tuple[Callable[[str], Any], st.SearchStrategy[str]]] = {
    "a duration": (milliseconds, texts("1", "5", ".", "ms", "s", "m", "h", "d", "w", "-")),
    "a duration or a time": (
        delay_or_time,
        texts("2030-01-31", "0001-01-01", "9999-12-31", "T", "12:00", "Z", "+23:59"),
    ),
    "a range of durations": (parse_range, texts("1s", "..", "10m")),
    "a rate": (parse_rate, texts("100", "/", "1m", "0")),
    "a cron expression": (cron, texts("*", " ", "/", "5", ",", "-", "@daily", "L", "#", "MON", "0 0 31 2 *", "60")),
    "a time zone": (zone, texts("Europe/Berlin", "UTC", "../", "/etc/passwd", "localtime")),
    "the key of a schedule": (scheduled_key, texts("{", "}", "{tick}", "{name}", "{date}", "{x}")),
    "a database URL": (
        urls.parse,
        texts("postgresql://", "sqlite:", "u:p@", "host", ":5432", "/db", "?schema=", "&", "[::1]", "%zz"),
    ),
    "a masked database URL": (urls.masked, texts("postgresql://", "u:p@", "host", ":5432", "/db", "?password=", "@")),
    "an HTTP URL": (
        parse_http_url,
        texts("http://", "https://", "u:p@", "host", ":80", "[::1]", "/", "?", "#", "..", "%2e"),
    ),
    "a host to allow": (
        lambda text: addresses.AllowedHosts([text]),
        texts("localhost", "10.0.0.0/8", "::1", "*.", ":80"),
    ),
    "a signing secret": (signatures.key, texts("whsec_", "AAAA", "=")),
    "a role": (read_role, texts("viewer", "admin")),
    "the text of a token": (tokens.well_formed, texts("rl_", "0" * 30)),
    "a name": (check_name, texts("a", "/", "*")),
    "a key": (check_key, texts("a", "/", "\t")),
    "a traceparent": (tracing.parse_traceparent, texts("00-", "0" * 32, "f" * 32, "-", "1" * 16, "-01")),
    "the filter box": (
        lambda text: item_filters.parse(text, Settings()),
        texts("state:", "failed", "gate:", "attempts:>", '"', "\\", "key:", "error:"),
    ),
    "CSV": (entries, texts("key,data\n", "a", ",", '"', "\n", '""')),
    "the column of CSV": (column, texts("a", "b", "1", "3")),
    "lines of JSON": (lines, texts('"a"', "{", "}", '{"key": "a"}', "[" * 2_000, "\n", "1" * 400)),
    "a line of an export": (
        exported,
        texts('{"record":"item",', '"key":"a"', "}", '"list":"x",', '{"record":"list"}', "[" * 2_000),
    ),
    "lines of keys": (plain_lines, texts("a", "\n", "\t", "{")),
    "placeholders": (template, texts("{", "}", "{}", "{{}}", "${", "{data.a}", "{/.}", "{#}")),
    "a line for a shell": (shell_line, texts("echo ", "{}", "'", '"', "$(", "`", "<<EOF\n", "\\", ";", "bash -c ")),
    "a predicate": (
        predicate,
        texts("series", "=", "Saga", "issue", ">=", "<", "1", "price", "day", "2030-01-01", "new=true"),
    ),
    "a predicate as JSON": (
        predicate_document,
        texts('{"series":', '"Saga"}', '{"in":[', "]}", '{"issue":{"from":1}}', "[" * 2_000),
    ),
    "a number or name of a gate": (cli_input.gate_value, texts("-", "1", "first")),
    "a value as JSON": (cli_input.json_value, texts("{", "}", '"', "[" * 2_000, "1")),
    "a time": (cli_input.time_value, texts("2030-01-31", "tomorrow", "12:00", "5m")),
    "a rule to halt": (work_handlers.parse_halt, texts("now,", "soon,", "fail=", "1", "%", "done=")),
    "a load": (throttle.parse_load, texts("50", "%", ".")),
    "a size": (throttle.parse_size, texts("1", "K", "M", "G", ".")),
    "a path": (routed, texts("/v1", "/lists", "/", "%2F", "%", "..", "/items", "?")),
    "an Accept-Encoding": (compression.choose_coding, texts("gzip", ";q=", "0", ".", ",", "*", "zstd", "identity")),
}


def refusal(parser: Callable[[str], Any], text: str) -> str:
    """Return the message of a refusal; any other exception fails the test."""
    try:
        parser(text)
    except RowlockError as error:
        return f"{error.what} {error.hint}"
    return ""


def check(name: str) -> Callable[[str], None]:
    def looked_at(text: str) -> None:
        message = refusal(PARSERS[name][0], text)
        assert len(message) < MAX_WHAT_CHARACTERS
        assert not _DRIVER_WORDS.search(message.replace(text, ""))

    return looked_at


@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_returns_a_value_or_a_refusal(name: str) -> None:
    looked_at = check(name)
    for text in _ODD:
        looked_at(text)
    given(PARSERS[name][1])(settings(max_examples=EXAMPLES, database=None, derandomize=True)(looked_at))()


@pytest.mark.torture
@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_returns_a_value_or_a_refusal_whatever_it_reads(name: str) -> None:
    given(PARSERS[name][1])(settings(max_examples=scaled(20_000))(check(name)))()


@given(st.text(min_size=1, max_size=30).filter(lambda text: "\0" not in text))
@settings(max_examples=EXAMPLES, database=None, derandomize=True)
def test_a_value_that_the_filter_box_has_quoted_is_read_as_it_was(value: str) -> None:
    assert item_filters.parse(f"error:{item_filters.quote(value)}", Settings()).query == {"error": value}
