"""A service whose callers an outer application knows: roles, prefixes and the origin of pages hold for them too."""

from collections.abc import Iterator

import pytest
from tests.http.serving import Client, serving_app

from rowlock import Engine
from rowlock.errors import TokenRefused
from rowlock.http import Service
from rowlock.http.auth import Principal
from rowlock.http.requests import Request
from rowlock.roles import Role

pytestmark = pytest.mark.own_protocol

FORM = "application/x-www-form-urlencoded"
CALLERS = {
    "vera": Principal("vera", Role.VIEWER),
    "otto": Principal("otto", Role.OPERATOR),
    "olga": Principal("olga", Role.OPERATOR, ("own/",)),
    "none": Principal("none", None),
}
EVIL = {"origin": "http://evil.example", "sec_fetch_site": "cross-site"}


async def known_by_cookie(request: Request) -> Principal:
    """Find the caller by a cookie of the outer application, or by a header."""
    name = request.header(b"cookie").removeprefix("user=") or request.header(b"authorization")
    if name not in CALLERS:
        raise TokenRefused("nobody has signed in", "sign in")
    return CALLERS[name]


@pytest.fixture(scope="module")
def outer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Engine]]:
    with Engine(tmp_path_factory.mktemp("outer") / "work.db") as engine:
        engine["own/work"].add("a")
        engine["other"].add("a")
        with serving_app(Service(engine, authorize=known_by_cookie)) as client:
            yield client, engine


def test_a_role_bounds_what_the_caller_may_do(outer: tuple[Client, Engine]) -> None:
    ask, engine = outer
    statuses = [
        ask("GET", "/lists/other", cookie="user=vera").status,
        ask("GET", "/lists/other", cookie="user=none").status,
        ask("GET", "/v1/lists/other", cookie="user=none").status,
        ask("POST", "/v1/lists/other/pause", cookie="user=vera").status,
        ask("POST", "/lists/other/act", "action=pause", cookie="user=vera", content_type=FORM).status,
        ask("DELETE", "/v1/lists/other", cookie="user=otto").status,
        ask("GET", "/v1/audit", cookie="user=otto").status,
    ]
    assert statuses == [200, 403, 403, 403, 403, 403, 403]
    assert engine["other"].info().state == "open"


def test_prefixes_bound_which_lists_the_caller_sees(outer: tuple[Client, Engine]) -> None:
    ask, engine = outer
    statuses = [
        ask("GET", path, cookie="user=olga").status
        for path in ("/v1/lists/own%2Fwork", "/lists/own%2Fwork", "/v1/lists/other", "/lists/other")
    ]
    assert statuses == [200, 200, 403, 403]
    assert ask("POST", "/v1/lists/other/pause", cookie="user=olga").status == 403
    assert engine["other"].info().state == "open"


def test_a_page_of_another_site_changes_nothing(outer: tuple[Client, Engine]) -> None:
    ask, engine = outer
    replies = [
        ask("POST", "/v1/lists/other/pause", cookie="user=otto", **EVIL),
        ask("POST", "/v1/lists/other/pause", cookie="user=otto", origin="null"),
        ask("POST", "/lists/other/act", "action=pause", cookie="user=otto", content_type=FORM, **EVIL),
    ]
    assert ([reply.status for reply in replies], engine["other"].info().state) == ([403] * 3, "open")


def test_own_pages_programs_and_callers_with_a_header_may_write(outer: tuple[Client, Engine]) -> None:
    ask, _ = outer
    form = {"cookie": "user=otto", "content_type": FORM}
    statuses = [
        ask("POST", "/lists/other/act", "action=pause", sec_fetch_site="same-origin", **form).status,
        ask("POST", "/v1/lists/other/resume", cookie="user=otto").status,
        ask("POST", "/v1/lists/other/pause", authorization="otto", **EVIL).status,
        ask("GET", "/lists/other", cookie="user=otto", sec_fetch_site="cross-site").status,
    ]
    assert statuses == [303, 200, 200, 200]
