"""Hostile text in every place of every request: it is kept as it is or refused, never run and never shown raw."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import msgspec
import pytest
from tests.security.asking import FORM, InProcess, asked
from tests.security.test_authorization import CASES, Case, filled

from rowlock import Engine, diagnostics
from rowlock.http.routes import ROUTES

PAYLOADS = (
    "' or '1'='1",
    "x'; drop table rowlock_items; --",
    "{parts/state} :list {now} %(list)s $1 ?",
    "100%_\\",
    "<script>window.__x=1</script>\"'onerror=x",
    "a\r\nSet-Cookie: x=1\r\n\r\n<b>",
    "../../../../etc/passwd",
    "..%2f..%2f%00",
    "{{7*7}}{% raw %}${7*7}",
    "=cmd|'/c calc'!A1",
    "\u202eevil\u0000",
    "😀" * 60,
)
LEAKS = re.compile(r"sqlite3|psycopg|syntax error|Traceback|no such table|/src/rowlock|site-packages|root:x:0")
PLACES = ("list", "topic", "session", "claim", "own_session", "own_claim", "spare_token", "live_token", "static")


@pytest.fixture(params=["sqlite", "postgres"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ask(engine: Engine) -> Iterator[InProcess]:
    with asked(engine) as found:
        yield found


def hostile(case: Case, payload: str) -> tuple[str, str]:
    """The target and the body of a request, with the payload for each name and each value."""
    in_json = msgspec.json.encode(payload).decode()[1:-1]
    is_form = not case.body.startswith("{")
    target = filled(case.target, dict.fromkeys((*PLACES, "own"), quote(payload, safe="")))
    body = filled(case.body, dict.fromkeys((*PLACES, "own"), quote(payload, safe="") if is_form else in_json))
    if is_form:
        return target, re.sub(r"=(\w*)", lambda match: f"={quote(payload, safe='')}", body, count=1)
    # Also values that the golden file has fixed: the keys of items, fields of records, names of holders.
    return target, re.sub(r'"(a|x|me|ann|bob|Saga|boom)"', lambda _: f'"{in_json}"', body)


def wrong(ask: InProcess, case: Case, payload: str) -> str:
    target, body = hostile(case, payload)
    kind = FORM if case.route.is_page and case.method == "POST" else "application/json"
    reply = ask(case.method, target, body, content_type=kind, accept="application/json", origin="http://127.0.0.1:8000")
    split = [value for value in reply.headers.values() if "\r" in value or "\n" in value]
    is_html = reply.headers.get("content-type", "").startswith("text/html")
    if reply.status >= 500 or split or (is_html and "<script>window" in reply.text):
        return f"{case} with {payload!r}: {reply.status} {split} {reply.text[:200]}"
    found = LEAKS.search(reply.text.replace(payload, ""))
    return f"{case} with {payload!r}: {found[0]}" if found else ""


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_names_and_values_are_refused_or_kept_and_harm_nothing(
    engine: Engine, ask: InProcess, payload: str
) -> None:
    engine["canary"].add(["a", "b"], data={"n": 1})
    before = list(engine["canary"])
    assert [found for case in CASES if case.target != "/live" if (found := wrong(ask, case, payload))] == []
    assert list(engine["canary"]) == before
    assert engine.read(diagnostics.violations) == []


def test_hostile_queries_are_refused_or_matched_literally(engine: Engine, ask: InProcess) -> None:
    engine["canary"].add(["a", "b"])
    told = []
    for route in ROUTES:
        for field in msgspec.structs.fields(route.query_type) if route.method == "GET" else ():
            path = re.sub(r"{\w+}", "canary", route.path)
            for payload in PAYLOADS:
                if route.media_type != "text/event-stream":
                    reply = ask("GET", f"{path}?{field.encode_name}={quote(payload)}", accept="application/json")
                    told.append((f"{path}?{field.encode_name}={payload}", reply.status, LEAKS.search(reply.text)))
    assert len(told) > 500
    assert [each for each in told if each[1] >= 500 or each[2]] == []


@pytest.mark.parametrize("payload", [payload for payload in PAYLOADS if "\0" not in payload])
def test_a_hostile_key_and_its_data_come_back_as_they_were(engine: Engine, payload: str) -> None:
    engine["work"].add(payload.replace("\r\n", " "), data={payload: payload})
    [item] = engine["work"]
    assert (item.key, item.data) == (payload.replace("\r\n", " "), {payload: payload})
    assert engine["work"].search(prefix="%").items == ([] if not payload.startswith("%") else [item])
