"""The service itself: alive, ready, its bounds, its page, its log, and whom it does not listen to."""

import io
import re

import msgspec
import pytest
from tests.http.serving import Client, serving

from rowlock import Engine
from rowlock.api.server_limits import ServerLimits
from rowlock.errors import Refused
from rowlock.http.auth import is_local_host
from rowlock.http.monitoring import AccessLog
from rowlock.http.server import require_tokens


def test_it_is_alive_and_ready(ask: Client) -> None:
    assert ask.json("GET", "/livez")["status"] == "ok"
    assert ask("GET", "/readyz").text == "ok\n"
    assert ask("GET", "/readyz?verbose").text == "ok\tstopping\nok\tdatabase\nok\n"


def test_it_tells_its_bounds(quick: Client) -> None:
    bounds = quick.json("GET", "/v1/limits")
    assert (bounds["key_bytes"], bounds["data_bytes"]) == (512, 256 * 1024)
    assert set(bounds) == set(ServerLimits.__struct_fields__)


def test_its_page_shows_lists_and_how_to_begin(ask: Client) -> None:
    empty = ask("GET", "/")
    assert f"curl --data-binary @- http://127.0.0.1:{ask.port}/v1/lists" in empty.text
    assert empty.headers["content-type"] == "text/html; charset=utf-8"
    ask("POST", "/v1/lists/%3Cb%3E/items", b"a\nb\n")
    assert '<a id="go-%3Cb%3E" href="/lists/%3Cb%3E">&lt;b&gt;</a>' in ask("GET", "/").text


def test_a_head_has_the_headers_of_a_get(quick: Client) -> None:
    head, get = quick("HEAD", "/v1/limits"), quick("GET", "/v1/limits")
    assert head.body == b""
    assert head.headers["content-length"] == get.headers["content-length"]


def test_every_request_has_a_name(quick: Client) -> None:
    assert quick("GET", "/livez", x_request_id="mine-7").headers["x-request-id"] == "mine-7"
    made = [quick("GET", "/livez", x_request_id=given).headers["x-request-id"] for given in ("", "x" * 200, "")]
    assert len(set(made)) == 3
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]+", name) for name in made)


def test_each_request_is_a_line_of_the_log(sqlite_url: str) -> None:
    written = io.StringIO()
    with Engine(sqlite_url) as engine, serving(engine, access_log=AccessLog(written)) as found:
        found.client("GET", "/v1/lists?count=1", x_request_id="one")
        found.client("GET", "/livez")
        found.client("GET", "/nothing", x_request_id="two")
    lines = [msgspec.json.decode(line) for line in written.getvalue().splitlines()]
    assert [(line["request"], line["method"], line["path"], line["status"]) for line in lines] == [
        ("one", "GET", "/v1/lists", 200),
        ("two", "GET", "/nothing", 404),
    ]
    assert lines[0]["query"] == "count=1"


def test_the_log_names_the_status_that_was_sent(sqlite_url: str) -> None:
    written = io.StringIO()
    with Engine(sqlite_url) as engine, serving(engine, access_log=AccessLog(written)) as found:
        etag = found.client("PUT", "/v1/lists/work", {}).headers["etag"]
        shown = found.client("GET", "/v1/lists/work", accept="application/json", if_none_match=etag)
    last = msgspec.json.decode(written.getvalue().splitlines()[-1])
    assert (shown.status, last["status"], last["bytes"]) == (304, 304, 0)


def test_a_page_of_another_site_may_not_ask(quick: Client) -> None:
    reply = quick("POST", "/v1/lists/names/items", b"a", origin="https://evil.example")
    assert (reply.status, reply.text.split(":")[0]) == (403, "error cross-site")
    own = f"http://127.0.0.1:{quick.port}"
    assert quick("POST", "/v1/lists/names/items", b"a", origin=own).status == 200


def test_a_name_that_was_made_to_lead_here_is_not_ours(quick: Client) -> None:
    assert quick("GET", "/v1/lists", host="evil.example").status == 403


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1:80", "[::1]:80", "[::1]", "a.localhost:1"])
def test_this_machine_is_known_by_its_names(host: str) -> None:
    assert is_local_host(host)


@pytest.mark.parametrize("host", ["example.org", "localhost.example.org", "127.0.0.1.example.org:80", "x:80"])
def test_other_names_are_not_ours(host: str) -> None:
    assert not is_local_host(host)


def test_where_anybody_could_come_it_needs_a_token_to_begin(engine: Engine) -> None:
    for host in ("0.0.0.0", "10.0.0.1", "::", "example.org"):
        with pytest.raises(Refused, match="refusing to listen on"):
            require_tokens(engine, host)
    for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"):
        require_tokens(engine, host)


def test_where_anybody_could_come_a_token_that_is_over_is_not_enough(engine: Engine) -> None:
    engine.tokens.revoke(engine.tokens.create("admin").info.id)
    with pytest.raises(Refused):
        require_tokens(engine, "0.0.0.0")
    engine.tokens.create("viewer")
    require_tokens(engine, "0.0.0.0")
