"""Who is let in: a token for everybody once there is one, a second for a revocation, no page of another site."""

import http.client
import io
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.conftest import Clock
from tests.http.serving import Client, Reply, Serving, read, serving
from tests.waiting import WAIT_SECONDS

from rowlock import Engine, tokens
from rowlock.api.server_limits import ServerLimits
from rowlock.environment import REAL_ENVIRONMENT
from rowlock.errors import DatabaseUnreachable
from rowlock.http.monitoring import AccessLog

UNKNOWN = "rl_" + "0" * 30 + "1ogAOy"


class Down:
    """A history that can be told to break off every look at the tokens."""

    def __init__(self) -> None:
        self.down = False

    def __call__(self, event: dict[str, Any]) -> None:
        if self.down and event["operation"] == "tokens.live_rows":
            raise DatabaseUnreachable("it is down", "wait")


@pytest.fixture
def down() -> Down:
    return Down()


@pytest.fixture
def watched(url: str, clock: Clock, down: Down) -> Iterator[Serving]:
    """A server whose time and whose database's time are the movable clock's."""
    environment = msgspec.structs.replace(REAL_ENVIRONMENT, monotonic=lambda: clock() / 1000)
    with Engine(url, clock=clock, environment=environment, history=down) as engine, serving(engine) as found:
        yield found


def bearer(text: str) -> str:
    return f"Bearer {text}"


def code(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.text.partition(":")[0].removeprefix("error ")


def test_loopback_is_open_until_there_is_a_token(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    assert ask("POST", "/v1/lists/work/items", b"a\n").status == 200
    text = engine.tokens.create("viewer").text
    assert code(ask("GET", "/v1/lists")) == (401, "token-refused")
    assert ask("GET", "/v1/lists", authorization=bearer(text)).status == 200


def test_loopback_does_not_open_again_when_the_last_token_is_over(served: Serving) -> None:
    tokens = served.service.engine.tokens
    tokens.revoke(tokens.create("viewer").info.id)
    assert code(served.client("GET", "/v1/lists")) == (401, "token-refused")


def test_elsewhere_it_is_never_open(engine: Engine) -> None:
    with serving(engine, loopback=False) as found:
        assert code(found.client("GET", "/v1/lists")) == (401, "token-refused")


def test_what_tells_nothing_of_anybody_needs_no_token(served: Serving) -> None:
    served.service.engine.tokens.create("viewer")
    paths = ("/livez", "/readyz", "/v1/limits", "/openapi.json")
    assert [served.client("GET", path).status for path in paths] == [200] * 4


def test_a_refusal_says_how_to_come_in(served: Serving) -> None:
    served.service.engine.tokens.create("viewer")
    reply = served.client("GET", "/v1/lists", accept="application/json")
    assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Bearer realm="rowlock"')
    assert (reply.json["code"], "rowlock token create" in reply.json["hint"]) == ("token-refused", True)


@pytest.mark.parametrize(
    "given",
    [
        "Bearer",
        "Bearer ",
        "Bearer rl_x",
        f"Bearer {UNKNOWN}",
        f"Bearer {UNKNOWN[:-1]}?",
        f"Basic {UNKNOWN}",
        UNKNOWN,
        "Bearer é",
        "Bearer " + "x" * 4000,
    ],
)
def test_what_is_no_live_token_is_refused(served: Serving, given: str) -> None:
    served.service.engine.tokens.create("admin")
    assert code(served.client("GET", "/v1/lists", authorization=given)) == (401, "token-refused")


def test_a_token_is_refused_also_where_it_is_not_needed_yet(ask: Client) -> None:
    assert ask("GET", "/v1/lists", authorization=bearer(UNKNOWN)).status == 401


@pytest.mark.parametrize("order", [1, -1])
def test_a_request_with_two_authorization_headers_is_refused(served: Serving, order: int) -> None:
    texts = [bearer(served.service.engine.tokens.create("viewer").text), bearer(UNKNOWN)]
    connection = http.client.HTTPConnection(served.client.host, served.client.port, timeout=WAIT_SECONDS)
    connection.putrequest("GET", "/v1/lists")
    for text in texts[::order]:
        connection.putheader("authorization", text)
    connection.endheaders()
    assert code(read(connection)) == (400, "invalid")
    connection.close()


def test_the_scheme_may_be_written_in_any_case(served: Serving) -> None:
    text = served.service.engine.tokens.create("viewer").text
    assert served.client("GET", "/v1/lists", authorization=f"bEARER  {text} ").status == 200


def test_a_token_revoked_elsewhere_is_refused_within_a_second(watched: Serving, url: str, clock: Clock) -> None:
    made = watched.service.engine.tokens.create("viewer")
    before = watched.client("GET", "/v1/lists", authorization=bearer(made.text)).status
    with Engine(url, clock=clock) as elsewhere:
        elsewhere.tokens.revoke(made.info.id)
    clock.advance(1)
    after = watched.client("GET", "/v1/lists", authorization=bearer(made.text)).status
    assert (before, after) == (200, 401)


def test_a_token_that_expires_is_refused_from_that_moment_on(watched: Serving, clock: Clock) -> None:
    text = watched.service.engine.tokens.create("viewer", expires="0.5s").text
    before = watched.client("GET", "/v1/lists", authorization=bearer(text)).status
    clock.advance(0.5)
    assert (before, watched.client("GET", "/v1/lists", authorization=bearer(text)).status) == (200, 401)


def test_while_the_database_is_down_nobody_comes_in_after_a_second(watched: Serving, clock: Clock, down: Down) -> None:
    text = watched.service.engine.tokens.create("viewer").text
    watched.client("GET", "/v1/lists", authorization=bearer(text))
    down.down = True
    believed = watched.client("GET", "/v1/lists", authorization=bearer(text)).status
    clock.advance(1)
    refused = watched.client("GET", "/v1/lists", authorization=bearer(text))
    assert (believed, refused.status, "retry-after" in refused.headers) == (200, 503, True)


def test_while_the_database_is_down_an_open_server_is_not_open(watched: Serving, down: Down) -> None:
    down.down = True
    assert watched.client("GET", "/v1/lists").status == 503


def test_the_last_use_of_tokens_is_noted_at_the_end(engine: Engine) -> None:
    text = engine.tokens.create("viewer").text
    with serving(engine) as found:
        found.client("GET", "/v1/lists", authorization=bearer(text))
    assert engine.tokens.page()[0].last_used_at is not None


def test_a_limited_token_sees_only_its_lists(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    for name in ("mail/in", "mail/out", "mai", "other", "z/1"):
        engine[name].add("a")
    text = engine.tokens.create("viewer", lists=["mail/", "z/", "z/1"]).text
    found = ask.json("GET", "/v1/lists", authorization=bearer(text))
    assert [each["name"] for each in found["lists"]] == ["mail/in", "mail/out", "z/1"]
    page = ask.json("GET", "/v1/lists?count=1&after=mail/in", authorization=bearer(text))
    assert [each["name"] for each in page["lists"]] == ["mail/out"]


def test_a_foreign_list_is_refused_alike_whether_it_is_there_or_not(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    engine["secret"].add("a")
    text = engine.tokens.create("operator", lists=["mail/"]).text
    there, not_there = (ask("GET", f"/v1/lists/{name}", authorization=bearer(text)) for name in ("secret", "nohere"))
    assert there.status == not_there.status == 403
    assert there.text.replace("secret", "nohere") == not_there.text


def test_a_name_that_is_mistyped_is_not_mended_with_a_foreign_one(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    engine["mail-secret"].add("a")
    whole, held = engine.tokens.create("viewer").text, engine.tokens.create("viewer", lists=["mail-x"]).text
    told = [ask("GET", "/v1/lists/mail-xecret", authorization=bearer(text)) for text in (whole, held)]
    assert [(reply.status, "mail-secret" in reply.text) for reply in told] == [(404, True), (404, False)]


def test_what_operators_do_is_recorded(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    engine["work"].add("a")
    made = engine.tokens.create("operator", label="ann")
    ask.json("POST", "/v1/lists/work/pause", authorization=bearer(made.text), x_request_id="r-7")
    ask.json("PATCH", "/v1/lists/work", {"attempts": 3}, authorization=bearer(made.text))
    changed, paused = engine.audit()
    assert (paused.who, paused.token) == (f"ann ({made.info.shown})", made.info.id)
    assert (paused.verb, paused.list, paused.count, paused.request) == ("lists.pause", "work", 1, "r-7")
    assert (changed.verb, changed.list, changed.details) == (
        "lists.change_settings",
        "work",
        {"changes": {"attempts": 3}},
    )


def test_what_anybody_does_on_an_open_server_is_recorded(served: Serving) -> None:
    engine = served.service.engine
    engine["work"].add("a")
    served.client("DELETE", "/v1/lists/work")
    assert [(each.who, each.verb, each.count) for each in engine.audit()] == [("anybody", "lists.drop", 1)]


def test_looking_adding_and_what_is_refused_are_not_recorded(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    text = engine.tokens.create("worker").text
    ask("POST", "/v1/lists/work/items", b"a\n", authorization=bearer(text))
    ask("GET", "/v1/lists/work", authorization=bearer(text))
    ask("POST", "/v1/lists/work/pause", authorization=bearer(text))
    assert engine.audit() == []


def test_tokens_are_made_listed_and_revoked_over_http(served: Serving) -> None:
    ask = served.client
    first = ask.json("POST", "/v1/tokens", {"role": "admin", "label": "ann"})
    admin = bearer(first["token"])
    second = ask.json("POST", "/v1/tokens", {"role": "worker", "lists": ["a/"], "expires": "1h"}, authorization=admin)
    assert ask("GET", "/v1/lists", authorization=bearer(second["token"])).status == 200
    assert ask.json("DELETE", f"/v1/tokens/{second['info']['id']}", authorization=admin) == {"revoked": True}
    assert ask("GET", "/v1/lists", authorization=bearer(second["token"])).status == 401
    listed = ask.json("GET", "/v1/tokens?ended=true", authorization=admin)["tokens"]
    assert [(each["label"], each["state"]) for each in listed] == [("ann", "live"), ("", "revoked")]
    assert first["token"][3:33] not in ask("GET", "/v1/tokens", authorization=admin).text


def test_a_new_token_is_alone_on_a_line_of_text(ask: Client) -> None:
    reply = ask("POST", "/v1/tokens", {"role": "admin"}, accept="text/plain")
    assert (reply.status, tokens.well_formed(reply.text.strip())) == (201, True)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/tokens", {"role": "boss"}, 422),
        ("POST", "/v1/tokens", {"role": "admin", "lists": ["a"]}, 400),
        ("POST", "/v1/tokens", {"role": "viewer", "expires": "soon"}, 400),
        ("DELETE", "/v1/tokens/7", None, 404),
        ("DELETE", "/v1/tokens/none", None, 404),
        ("DELETE", f"/v1/tokens/{10**30}", None, 404),
        ("GET", f"/v1/tokens?after={10**30}", None, 400),
        ("GET", "/v1/audit?since=soon", None, 400),
    ],
)
def test_what_cannot_be_right_is_refused(quick: Client, method: str, path: str, body: Any, status: int) -> None:
    assert quick(method, path, body).status == status


def test_the_audit_can_be_read_over_http(ask: Client) -> None:
    ask("POST", "/v1/lists/work/items", b"a\n")
    for verb in ("pause", "resume"):
        ask("POST", f"/v1/lists/work/{verb}")
    page = ask.json("GET", "/v1/audit?list=work&since=1h&count=1")
    assert [each["verb"] for each in page["records"]] == ["lists.resume"]
    rest = ask.json("GET", f"/v1/audit?before={page['next']}")
    assert [each["verb"] for each in rest["records"]] == ["lists.pause"]


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("POST", {"sec_fetch_site": "cross-site"}, 403),
        ("POST", {"sec_fetch_site": "same-site"}, 403),
        ("POST", {"origin": "null"}, 403),
        ("POST", {"origin": "http://localhost:3000"}, 403),
        ("POST", {"sec_fetch_site": "same-origin"}, 200),
        ("POST", {"sec_fetch_site": "none"}, 200),
        ("GET", {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"}, 403),
        ("GET", {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}, 200),
        ("POST", {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}, 403),
    ],
)
def test_a_page_of_another_site_cannot_use_an_open_server(
    quick: Client, method: str, headers: dict[str, str], status: int
) -> None:
    assert quick(method, "/v1/lists/names/items", b"a\n" if method == "POST" else None, **headers).status == status


def test_with_a_token_any_name_of_the_server_will_do(served: Serving) -> None:
    text = served.service.engine.tokens.create("worker").text
    behind_a_proxy = {"host": "work.example.org", "origin": "https://app.example.org", "authorization": bearer(text)}
    assert served.client("POST", "/v1/lists/names/items", b"a\n", **behind_a_proxy).status == 200


def test_no_token_stands_in_the_log(sqlite_url: str) -> None:
    written = io.StringIO()
    with Engine(sqlite_url) as engine:
        text = engine.tokens.create("admin").text
        with serving(engine, access_log=AccessLog(written)) as found:
            found.client("GET", f"/v1/lists?token={text}", authorization=bearer(text))
            found.client("GET", f"/v1/lists/{text}", authorization=bearer(text))
    assert (written.getvalue().count("\n"), text in written.getvalue()) == (2, False)


def test_what_would_only_be_done_is_not_recorded(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    engine["work"].add("a")
    for verb in ("retry", "abandon"):
        ask("POST", f"/v1/lists/work/items/{verb}?dry_run=1", b"a\n")
        ask("POST", f"/v1/lists/work/items/{verb}?state=failed&dry_run=1")
    assert engine.audit() == []


def test_giving_up_all_failed_items_is_recorded_whichever_way_it_is_asked(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    for key, verb in (("a", "delete"), ("b", "abandon")):
        engine["work"].add(key)
        with engine.session() as session:
            claim = session.take("work")
            assert claim is not None
            claim.fail(claim.items[0])
            claim.settle()
        ask("POST", f"/v1/lists/work/items/{verb}?state=failed")
    done = [(each.verb, each.list, each.count) for each in engine.audit() if each.count]
    assert done == [("items.abandon", "work", 1), ("items.abandon", "work", 1)]


def test_a_stream_ends_with_its_token(engine: Engine) -> None:
    made = engine.tokens.create("worker")
    with serving(engine, ServerLimits(batch_items=2)) as found:
        connection = http.client.HTTPConnection(found.client.host, found.client.port, timeout=WAIT_SECONDS)
        connection.putrequest("POST", "/v1/lists/work/items")
        for name, value in {"content-type": "application/x-ndjson", "transfer-encoding": "chunked"}.items():
            connection.putheader(name, value)
        connection.putheader("authorization", bearer(made.text))
        connection.endheaders()
        connection.send(chunk(b'"a"\n"b"\n"c"\n'))
        response = connection.getresponse()
        first = response.readline()
        engine.tokens.revoke(made.info.id)
        connection.send(chunk(b'"d"\n"e"\n') + chunk(b""))
        last = response.read()
        connection.close()
    assert (msgspec.json.decode(first)["added"], b"token-refused" in last) == (2, True)
    assert engine["work"].counts().ready == 2


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)
