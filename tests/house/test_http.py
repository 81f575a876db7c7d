"""The table of routes is the one source: the reference page follows it, and every route says what it does."""

import subprocess
import sys

import pytest
from tests.house.places import ROOT

from rowlock.http.route import Route
from rowlock.http.routes import ROUTES


def test_the_reference_of_routes_is_up_to_date() -> None:
    ran = subprocess.run(
        [sys.executable, "tools/http_reference.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_says_what_it_does(route: Route) -> None:
    assert route.summary.endswith(".")


def test_every_route_has_a_name_of_its_own() -> None:
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_only_what_tells_nothing_is_open_to_everybody(route: Route) -> None:
    assert route.role is not None or (route.method == "GET" and "{" not in route.path)
