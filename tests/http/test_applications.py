"""Applications are served beside the service: at the root, behind the same door, within the same bounds."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.authentication import requires
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from tests.http.serving import Client, Serving, serving

from rowlock import Engine, NotFound, Unavailable
from rowlock.api.server_limits import ServerLimits
from rowlock.apps import Application


async def say(request: Request) -> Response:
    """What was sent, and where."""
    body = await request.body()
    return JSONResponse({"path": request.url.path, "query": request.url.query, "body": body.decode()})


async def fail(request: Request) -> Response:
    raise {"rowlock": Unavailable("the store is away", "wait"), "missing": NotFound("it is not there")}.get(
        request.path_params["how"], RuntimeError("hunter2")
    )


async def tell_roles(request: Request) -> Response:
    """The roles whose requests may be made, as Starlette knows them."""
    return JSONResponse(list(request.auth.scopes))


@requires("operator")
async def operate(request: Request) -> Response:
    return PlainTextResponse(f"operated {request.url.path}")


async def show_picture(_: Request) -> Response:
    return Response(b"x" * 2000, media_type="image/png")


async def give_up(_: Request) -> Response:
    return PlainTextResponse("our own words", 500)


def app(*routes: Route) -> Starlette:
    return Starlette(routes=[*routes])


FIRST = Application(
    app(
        Route("/", say),
        Route("/livez", say),
        Route("/v1/lists", say, methods=["GET", "PUT"]),
        Route("/v1/other", say),
        Route("/said/{word}", say, methods=["GET", "POST"]),
        Route("/shared", say),
        Route("/fail/{how}", fail),
        Route("/give-up", give_up),
        Route("/picture", show_picture),
        Route("/roles", tell_roles),
        Route("/open-roles", tell_roles),
        Route("/operate", operate),
    ),
    open_paths=("/said/aloud", "/shared*", "/open-roles"),
)
SECOND = Application(app(Route("/shared", fail), Route("/shared", say, methods=["POST"]), Route("/second", say)))
APPS = {"first": FIRST, "second": SECOND}


@pytest.fixture(scope="module")
def served(protocol: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Two applications, and nobody has a token yet."""
    where = str(tmp_path_factory.mktemp("apps") / "work.db")
    with Engine(where) as engine, serving(engine, ServerLimits(document_bytes=1_000), applications=APPS) as found:
        yield found


@pytest.fixture(scope="module")
def ask(served: Serving) -> Client:
    return served.client


def test_an_application_answers_at_its_own_paths(ask: Client) -> None:
    reply = ask("POST", "/said/hello?x=1&x=2", b"\xc3\xa4", x_request_id="mine")
    assert reply.json == {"path": "/said/hello", "query": "x=1&x=2", "body": "ä"}
    assert (reply.status, reply.headers["x-request-id"]) == (200, "mine")
    assert ask("GET", "/second").json["path"] == "/second"


def test_what_the_service_has_is_never_the_applications(ask: Client) -> None:
    assert "<title>Overview · rowlock</title>" in ask("GET", "/").text
    assert ask("GET", "/livez").text.startswith("status\tok\n")
    assert ask("GET", "/v1/lists").text == ""
    assert ask("PUT", "/v1/lists").status == 405
    assert (ask("GET", "/v1/other").status, ask("GET", "/v1").status) == (404, 404)


def test_of_two_that_have_a_path_the_first_has_it_unless_only_the_other_has_the_method(ask: Client) -> None:
    assert ask("GET", "/shared").json["path"] == "/shared"
    assert ask("POST", "/shared").json["path"] == "/shared"


def test_where_nobody_is_the_service_says_so(ask: Client) -> None:
    assert ask("GET", "/nowhere", accept="application/json").json["code"] == "no-such-path"
    wrong = ask("DELETE", "/said/x", accept="application/json")
    assert (wrong.status, wrong.json["code"], wrong.headers["allow"]) == (405, "wrong-method", "GET, HEAD, POST")


def test_a_body_comes_unpacked_and_in_bounds(ask: Client) -> None:
    assert ask("POST", "/said/x", gzip.compress(b"packed"), content_encoding="gzip").json["body"] == "packed"
    assert ask("POST", "/said/x", b"x" * 1_001).status == 413
    assert ask("POST", "/said/x", gzip.compress(b"x" * 100_000), content_encoding="gzip").status == 413


def test_a_long_answer_is_compressed_and_a_picture_is_not(ask: Client) -> None:
    long = ask("GET", f"/said/{'x' * 2000}", accept_encoding="gzip")
    assert json.loads(gzip.decompress(long.body))["path"] == f"/said/{'x' * 2000}"
    assert (long.headers["content-encoding"], long.headers["vary"]) == ("gzip", "accept-encoding")
    picture = ask("GET", "/picture", accept_encoding="gzip")
    assert (picture.body, "content-encoding" in picture.headers) == (b"x" * 2000, False)


def test_an_error_of_rowlock_is_told_as_the_service_tells_it(ask: Client) -> None:
    reply = ask("GET", "/fail/rowlock", accept="application/json")
    assert (reply.status, reply.headers["retry-after"], reply.json["detail"]) == (503, "1", "the store is away")
    assert (ask("GET", "/fail/missing").status, ask("GET", "/give-up").text) == (404, "our own words")


def test_a_bug_of_an_application_is_told_without_its_words(ask: Client, caplog: pytest.LogCaptureFixture) -> None:
    reply = ask("GET", "/fail/bug", accept="application/json")
    assert (reply.status, "first" in reply.json["hint"], "hunter2" in reply.text) == (500, True, False)
    assert "hunter2" in caplog.text


def test_requests_are_counted_by_the_path_as_the_application_writes_it(ask: Client) -> None:
    ask("GET", "/said/something")
    assert 'route="GET /said/{word}",status="200"' in ask("GET", "/metrics").text


def test_no_page_of_another_site_asks_an_application(ask: Client) -> None:
    assert ask("POST", "/said/x", origin="https://evil.example").status == 403
    assert ask("GET", "/said/x", host="evil.example").status == 403


def test_an_application_knows_the_roles_of_who_asks(tmp_path: Path) -> None:
    with Engine(tmp_path / "work.db") as engine, serving(engine, applications=APPS) as found:
        assert found.client("GET", "/roles").json == ["viewer", "worker", "operator", "admin"]
        sent = {role: f"Bearer {engine.tokens.create(role).text}" for role in ("viewer", "worker", "operator")}
        told = {role: found.client("GET", "/roles", authorization=text).json for role, text in sent.items()}
        operated = [found.client("GET", "/operate", authorization=text).status for text in sent.values()]
        open_to_all = found.client("GET", "/open-roles", authorization=sent["operator"]).json
    assert told == {
        "viewer": ["viewer"],
        "worker": ["viewer", "worker"],
        "operator": ["viewer", "worker", "operator"],
    }
    assert (operated, open_to_all) == ([403, 403, 200], [])


def test_tokens_hold_for_applications(served: Serving) -> None:
    ask, tokens = served.client, served.service.engine.tokens
    viewer = f"Bearer {tokens.create('viewer').text}"
    worker = f"Bearer {tokens.create('worker').text}"
    scoped = f"Bearer {tokens.create('operator', lists=['own/']).text}"
    asked = [
        ask(method, "/said/x", authorization=who) if who else ask(method, "/said/x")
        for method in ("GET", "POST")
        for who in ("", "Bearer rl_nonsense", viewer, worker, scoped)
    ]
    assert [reply.status for reply in asked] == [401, 401, 200, 200, 403, 401, 401, 403, 200, 403]
    asked = [ask("GET", path) for path in ("/said/aloud", "/shared", "/said/aloud/", "/second")]
    assert [reply.status for reply in asked] == [200, 200, 404, 401]
