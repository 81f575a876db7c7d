"""Who may ask what: every route of the table, by every role, on their own lists and on those of others."""

import http.client
from collections.abc import Iterator

import pytest
from tests.http.serving import Client, Serving, serving

from rowlock import Engine
from rowlock.http.access import HELD
from rowlock.http.route import Route
from rowlock.http.routes import ROUTES
from rowlock.roles import Role

OWN, FOREIGN = "own/list", "foreign/canary"
ORDER = [None, *Role]
# What stands in a path, where it is not a list: nothing that is there, for none of it may be looked at.
SAMPLES = {"key": "a", "id": "999999"}


def named_by(route: Route) -> bool:
    """Whether its path names something that prefixes are held against."""
    return any(noun in route.parameters for noun in HELD)


named = pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Engine(str(tmp_path_factory.mktemp("matrix") / "work.db")) as engine, serving(engine) as found:
        yield found


@pytest.fixture(scope="module")
def shown(served: Serving) -> dict[str, str]:
    """What each role sends, with and without a prefix."""
    tokens = served.service.engine.tokens
    whole = {str(role): tokens.create(role).text for role in Role}
    held = {f"{role} of own": tokens.create(role, lists=["own/"]).text for role in Role if role is not Role.ADMIN}
    return {"": "", **{name: f"Bearer {text}" for name, text in (whole | held).items()}}


@pytest.fixture(autouse=True)
def filled(served: Serving) -> None:
    """Both lists are there and open for each request, and what else has a name."""
    for name in (OWN, FOREIGN):
        served.service.engine[name].settings(attempts=5)
        served.service.engine[name].seal()
        served.service.engine[name].reopen()
        served.service.engine[name].add(["a", "canary"])
        served.service.engine.counter(name).raise_to(1)
        served.service.engine.schedule(name).set(name, every="1w")


def status(ask: Client, route: Route, name: str, authorization: str) -> int:
    """The status of a request; an answer that goes on for ever is not waited for."""
    connection = http.client.HTTPConnection(ask.host, ask.port, timeout=30)
    try:
        headers = {"authorization": authorization} if authorization else {}
        connection.request(route.method, path(route, name), headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def path(route: Route, name: str) -> str:
    filled = route.path
    for parameter in route.parameters:
        value = name if parameter in HELD else SAMPLES.get(parameter, "none")
        filled = filled.replace(f"{{{parameter}}}", value.replace("/", "%2F"))
    return filled


@named
def test_nobody_comes_in_without_a_token(served: Serving, shown: dict[str, str], route: Route) -> None:
    assert (status(served.client, route, OWN, "") == 401) is (route.role is not None)


@named
@pytest.mark.parametrize("role", Role)
def test_a_role_may_ask_what_is_for_it_and_for_those_before_it(
    served: Serving, shown: dict[str, str], route: Route, role: Role
) -> None:
    answered = status(served.client, route, OWN, shown[str(role)])
    assert answered != 401
    assert (answered != 403) is (ORDER.index(route.role) <= ORDER.index(role))


@named
@pytest.mark.parametrize("role", [Role.VIEWER, Role.WORKER, Role.OPERATOR])
def test_a_prefix_does_not_take_from_a_role_what_is_its_own(
    served: Serving, shown: dict[str, str], route: Route, role: Role
) -> None:
    allowed = ORDER.index(route.role) <= ORDER.index(role)
    theirs = named_by(route) or route.scoped or route.role is None
    assert (status(served.client, route, OWN, shown[f"{role} of own"]) != 403) is (allowed and theirs)


@named
@pytest.mark.parametrize("role", [Role.VIEWER, Role.WORKER, Role.OPERATOR])
def test_a_foreign_list_is_out_of_reach(served: Serving, shown: dict[str, str], route: Route, role: Role) -> None:
    answered = status(served.client, route, FOREIGN, shown[f"{role} of own"])
    allowed = ORDER.index(route.role) <= ORDER.index(role) and (route.scoped or route.role is None)
    assert (answered != 403) is (allowed and not named_by(route))
    assert served.service.engine[FOREIGN].counts().ready == 2


@pytest.mark.parametrize(
    "route",
    [r for r in ROUTES if r.method == "GET" and not named_by(r) and not r.endless],
    ids=lambda route: f"{route.method} {route.path}",
)
def test_nothing_of_a_foreign_list_is_told(served: Serving, shown: dict[str, str], route: Route) -> None:
    reply = served.client("GET", path(route, OWN), authorization=shown["operator of own"])
    assert "canary" not in reply.text


def test_no_route_that_writes_is_for_viewers() -> None:
    assert [
        route.name for route in ROUTES if route.method not in ("GET", "HEAD") and route.role in (None, Role.VIEWER)
    ] == []


def test_tokens_the_audit_and_dropping_are_for_admins() -> None:
    rare = [r for r in ROUTES if r.path.startswith(("/v1/tokens", "/v1/audit")) or r.name == "lists.drop"]
    assert (len(rare), {route.role for route in rare}) == (5, {Role.ADMIN})


def test_what_is_open_to_everybody_is_this() -> None:
    open_to_all = {route.path for route in ROUTES if route.role is None}
    assert open_to_all == {"/livez", "/readyz", "/v1/limits", "/openapi.json"}
