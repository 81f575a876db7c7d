"""The table of routes is the one source: the reference page follows it, and every route says what it does."""

import subprocess
import sys

from tests.house.places import ROOT

from rowlock.http.routes import ROUTES


def test_the_reference_of_routes_is_up_to_date() -> None:
    ran = subprocess.run(
        [sys.executable, "tools/http_reference.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


def test_a_route_says_what_it_does() -> None:
    assert [route.path for route in ROUTES if not route.documentation[0].endswith(".")] == []


def test_every_route_has_a_name_of_its_own() -> None:
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


def test_only_what_tells_nothing_is_open_to_everybody() -> None:
    opened = [route for route in ROUTES if route.role is None]
    assert [route.path for route in opened if route.method != "GET" or "{" in route.path] == []
