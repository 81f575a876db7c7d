"""Requests that other sites make a browser send, addresses that lead elsewhere, and headers that protect pages."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from tests.security.asking import FORM, InProcess, asked
from tests.security.test_authorization import CASES, Case, filled

from rowlock import Engine
from rowlock.dashboard import NAVIGATION
from rowlock.http.auth import COOKIE

WRITES = [case for case in CASES if case.method not in ("GET", "HEAD") and case.target != "/login"]
FOREIGN = {
    "a form of another site": {"origin": "https://evil.example", "sec_fetch_site": "cross-site"},
    "a form of a sibling": {"origin": "http://other.127.0.0.1:8000", "sec_fetch_site": "same-site"},
    "a sandboxed frame": {"origin": "null"},
    "another port": {"origin": "http://127.0.0.1:9000"},
    "a host that begins like ours": {"origin": "http://127.0.0.1:8000.evil.example"},
    "an address bar": {"sec_fetch_site": "none"},
}
TRICKS = (
    "..",
    "../../../../etc/passwd",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fpyproject.toml",
    "..\\..\\windows",
    "%00",
    "dashboard.css%00.png",
    "/etc/passwd",
    "C:%5Cwindows",
    "....//....//etc/passwd",
    "%c0%ae%c0%ae/",
    "a" * 5_000,
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine(tmp_path_factory.mktemp("forgery") / "work.db") as made:
        made["work"].add(["a", "b"])
        yield made


@pytest.fixture(scope="module")
def open_service(engine: Engine) -> Iterator[InProcess]:
    """A service on loopback without tokens: everybody on this machine is its admin, but no page of another site."""
    with asked(engine) as found:
        yield found


def names() -> dict[str, str]:
    return dict.fromkeys(("list", "own", "topic", "session", "claim", "own_session", "own_claim"), "work") | {
        "spare_token": "1",
        "live_token": "x",
    }


def sent(ask: InProcess, case: Case, **headers: str) -> int:
    kind = FORM if case.route.is_page else "application/json"
    body = filled(case.body, {name: quote(value, safe="") for name, value in names().items()})
    return ask(case.method, filled(case.target, names()), body, **{"content_type": kind, **headers}).status


@pytest.mark.parametrize("page", [page for page in FOREIGN if "origin" in FOREIGN[page]])
def test_a_page_of_another_site_cannot_write_on_an_open_service(open_service: InProcess, page: str) -> None:
    assert [str(case) for case in WRITES if sent(open_service, case, **FOREIGN[page]) != 403] == []
    assert [item.key for item in open_service.service.engine["work"]] == ["a", "b"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example"]
)
def test_a_name_that_was_made_to_lead_here_reads_and_writes_nothing(open_service: InProcess, host: str) -> None:
    refused = [case for case in CASES if case.role != "everybody" and sent(open_service, case, host=host) != 403]
    assert [str(case) for case in refused if case.method != "GET" or not case.route.is_page] == []


def test_a_path_to_a_file_leads_nowhere(open_service: InProcess) -> None:
    replies = [(trick, open_service("GET", f"/static/{trick}")) for trick in TRICKS]
    assert [trick for trick, reply in replies if reply.status not in (400, 404)] == []
    assert [trick for trick, reply in replies if "root:" in reply.text or "[project]" in reply.text] == []


@pytest.fixture(scope="module")
def closed_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[InProcess, str]]:
    """A service that needs tokens, and an admin who has signed in."""
    with Engine(tmp_path_factory.mktemp("closed") / "work.db") as made, asked(made, loopback=False) as found:
        made["work"].add(["a", "b"])
        yield found, f"{COOKIE}={made.tokens.create('admin').text}"


@pytest.mark.parametrize("page", FOREIGN)
def test_a_page_of_another_site_cannot_use_the_cookie_of_an_admin(
    closed_service: tuple[InProcess, str], page: str
) -> None:
    ask, cookie = closed_service
    assert [str(case) for case in WRITES if sent(ask, case, cookie=cookie, **FOREIGN[page]) != 403] == []
    assert [item.key for item in ask.service.engine["work"]] == ["a", "b"]


def test_every_page_forbids_frames_foreign_scripts_guessed_types_and_caches(
    closed_service: tuple[InProcess, str],
) -> None:
    ask, cookie = closed_service
    for _, segment in NAVIGATION:
        reply = ask("GET", f"/{segment}", cookie=cookie)
        policy = reply.headers["content-security-policy"]
        assert reply.status == 200
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert (reply.headers["x-content-type-options"], reply.headers["cache-control"]) == ("nosniff", "no-store")
        assert reply.headers["referrer-policy"] == "same-origin"


def test_answers_of_the_api_are_not_kept_and_their_type_is_not_guessed(closed_service: tuple[InProcess, str]) -> None:
    ask, cookie = closed_service
    for path in ("/v1/lists", "/v1/tokens", "/v1/nowhere", "/v1/lists/nowhere", "/metrics"):
        headers = ask("GET", path, cookie=cookie).headers
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")


def test_no_answer_allows_another_origin_to_read_it(closed_service: tuple[InProcess, str]) -> None:
    ask, cookie = closed_service
    for method in ("GET", "OPTIONS"):
        reply = ask(method, "/v1/lists", cookie=cookie, origin="https://evil.example")
        assert [name for name in reply.headers if name.startswith("access-control")] == []


def test_a_token_in_an_address_is_not_a_token(closed_service: tuple[InProcess, str]) -> None:
    ask, cookie = closed_service
    token = cookie.partition("=")[2]
    paths = (f"/v1/lists?token={token}", f"/v1/lists?access_token={token}", f"/v1/lists?authorization=Bearer%20{token}")
    assert [ask("GET", path).status for path in paths] == [401] * 3


def test_a_query_parameter_that_comes_twice_is_refused(open_service: InProcess) -> None:
    assert open_service("GET", "/v1/lists?count=1&count=2").status == 400


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "TRACK", "PROPFIND"])
def test_a_method_of_no_route_is_refused(open_service: InProcess, method: str) -> None:
    assert open_service(method, "/v1/lists", x_secret="mark").status == 405
