"""Who may ask what: every route of the table, by every role, on their own lists and on those of others."""

import http.client
from collections.abc import Callable, Iterator

import pytest
from tests.http.serving import Client, Serving, serving
from tests.waiting import WAIT_SECONDS

from rowlock import Engine
from rowlock.http.auth import SCOPED_NAMES
from rowlock.http.routes import ROUTES
from rowlock.http.routing import Route
from rowlock.roles import Role

OWN, FOREIGN = "own/list", "foreign/canary"
ORDER = [None, *Role]
# What stands in a path, where it is not a list: nothing that is there, for none of it may be looked at.
SAMPLES = {"key": "a", "id": "999999"}
# An admin has no prefixes.
HOLDABLE = [role for role in Role if role is not Role.ADMIN]


def named_by(route: Route) -> bool:
    """Whether its path names something that prefixes are held against."""
    return any(noun in route.parameters for noun in SCOPED_NAMES)


@pytest.fixture(scope="module")
def served(protocol: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Engine(str(tmp_path_factory.mktemp("matrix") / "work.db")) as engine, serving(engine) as found:
        yield found


@pytest.fixture(scope="module")
def shown(served: Serving) -> dict[str, str]:
    """What each role sends, with and without a prefix."""
    tokens = served.service.engine.tokens
    whole = {str(role): tokens.create(role).text for role in Role}
    held = {
        f"{role} of own": tokens.create(role, lists=["own/", "topics/own/"]).text
        for role in Role
        if role is not Role.ADMIN
    }
    return {"": "", **{name: f"Bearer {text}" for name, text in (whole | held).items()}}


@pytest.fixture(autouse=True)
def filled(served: Serving) -> None:
    """Both lists are there and open, and what else has a name; what may be asked is decided before anybody looks."""
    for name in (OWN, FOREIGN):
        served.service.engine[name].settings(attempts=5)
        served.service.engine[name].seal()
        served.service.engine[name].reopen()
        served.service.engine[name].add(["a", "canary"])
        served.service.engine.counter(name).raise_to(1)
        served.service.engine.schedule(name).set(name, every="1w")
        served.service.engine.topic(topic(name)).define({name.partition("/")[2]: "text"})


def topic(name: str) -> str:
    """A topic whose lists have the prefix of that list."""
    return name.partition("/")[0]


def statuses(ask: Client, name: str, authorization: str) -> Iterator[tuple[Route, int]]:
    """The status of a request to each route; an answer that goes on for ever is not waited for."""
    headers = {"authorization": authorization} if authorization else {}
    connection = http.client.HTTPConnection(ask.host, ask.port, timeout=WAIT_SECONDS)
    for route in ROUTES:
        connection.request(route.method, path(route, name), headers=headers)
        response = connection.getresponse()
        if response.status == 200 and route.media_type == "text/event-stream":
            connection.close()
        else:
            response.read()
        yield route, response.status
    connection.close()


def path(route: Route, name: str) -> str:
    filled = route.path
    for parameter in route.parameters:
        value = name if parameter in SCOPED_NAMES else SAMPLES.get(parameter, "none")
        value = topic(name) if parameter == "topic" else value
        filled = filled.replace(f"{{{parameter}}}", value.replace("/", "%2F"))
    return filled


def may(route: Route, role: Role) -> bool:
    return ORDER.index(route.role) <= ORDER.index(role)


def wrong(found: Iterator[tuple[Route, int]], allowed: Callable[[Route], bool], refusal: int = 403) -> list[str]:
    """The routes that refused whom they should not, or the other way round."""
    told = [(f"{route.method} {route.path}: {status}", status, allowed(route)) for route, status in found]
    assert len(told) == len(ROUTES)
    return [line for line, status, good in told if (status in (401, 403, 500) if good else status != refusal)]


def test_nobody_comes_in_without_a_token(served: Serving, shown: dict[str, str]) -> None:
    assert wrong(statuses(served.client, OWN, ""), lambda route: route.role is None, 401) == []


@pytest.mark.parametrize("role", Role)
def test_a_role_may_ask_what_is_for_it_and_for_those_before_it(
    served: Serving, shown: dict[str, str], role: Role
) -> None:
    assert wrong(statuses(served.client, OWN, shown[str(role)]), lambda route: may(route, role)) == []


@pytest.mark.parametrize("role", HOLDABLE)
def test_a_prefix_does_not_take_from_a_role_what_is_its_own(served: Serving, shown: dict[str, str], role: Role) -> None:
    def allowed(route: Route) -> bool:
        return may(route, role) and (named_by(route) or route.scoped or route.role is None)

    assert wrong(statuses(served.client, OWN, shown[f"{role} of own"]), allowed) == []


@pytest.mark.parametrize("role", HOLDABLE)
def test_a_foreign_list_is_out_of_reach(served: Serving, shown: dict[str, str], role: Role) -> None:
    def allowed(route: Route) -> bool:
        return may(route, role) and (route.scoped or route.role is None) and not named_by(route)

    before = told_of(served.service.engine)
    assert wrong(statuses(served.client, FOREIGN, shown[f"{role} of own"]), allowed) == []
    assert told_of(served.service.engine) == before


def told_of(engine: Engine) -> tuple[object, ...]:
    """All that there is of the foreign list, its counter and its schedule."""
    return engine[FOREIGN].info(), [*engine[FOREIGN]], engine.counter(FOREIGN).show(), engine.schedule(FOREIGN).info()


def test_nothing_of_a_foreign_list_is_told(served: Serving, shown: dict[str, str]) -> None:
    looks = [r for r in ROUTES if r.method == "GET" and not named_by(r) and r.media_type != "text/event-stream"]
    told = {r.path: served.client("GET", path(r, OWN), authorization=shown["operator of own"]).text for r in looks}
    assert [place for place, text in told.items() if "canary" in text] == []


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
