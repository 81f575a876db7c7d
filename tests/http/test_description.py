"""The service does what its description of itself says: judged by others who know OpenAPI, and asked everything."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from openapi_spec_validator import validate
from tests.http.serving import Client, Serving, serving
from tests.torture import scaled
from tests.waiting import WAIT_SECONDS

from rowlock import Engine
from rowlock.api.server_limits import ServerLimits
from rowlock.http.openapi import document
from rowlock.http.routes import ROUTES

PROGRAM = Path(sys.executable).with_name("schemathesis")
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
WRITTEN = msgspec.json.decode(msgspec.json.encode(document(ROUTES)))
# Nobody waits for long, so that no example does.
LIMITS = ServerLimits(wait_seconds=0.01)
# Of each operation.
EXAMPLES = str(scaled(40))
# Names of things that are there, so that not every question is about nothing.
KNOWN = """
[parameters]
"path.list" = "work"
"path.key" = "a"
"path.counter" = "numbers"
"path.schedule" = "weekly"
"""


def judged(served: Serving, folder: Path, *words: str, config: str = "") -> str:
    """What schemathesis has to say; nothing if all is as described."""
    (folder / "schemathesis.toml").write_text(config)
    address = f"http://{served.client.host}:{served.client.port}/openapi.json"
    command = [PROGRAM, "--config-file", "schemathesis.toml", "run", address, "--no-color", "--checks", CHECKS]
    # However slow the machine is, it says nothing about the service.
    command += ["--suppress-health-check", "all", "--request-timeout", str(WAIT_SECONDS)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run([*command, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


@pytest.fixture
def served(engine: Engine) -> Iterator[Serving]:
    """A server that lets nobody wait."""
    with serving(engine, LIMITS) as found:
        yield found


def fill(engine: Engine) -> None:
    engine["work"].add(["a", "b", "c"], data={"size": 3})
    engine.counter("numbers").next()
    engine.schedule("weekly").set("work", every="1w")


def test_the_description_is_openapi_3_1() -> None:
    validate(WRITTEN)


def test_the_service_gives_its_description(quick: Client) -> None:
    assert quick.json("GET", "/openapi.json") == WRITTEN


def test_every_route_answers_as_described(sqlite_url: str, tmp_path: Path) -> None:
    # A token would close the service to who asks; one that is listened to has no end.
    left_out = ("--exclude-path", "/v1/events", "--exclude-operation-id", "tokens.create")
    few = ("--max-examples", "2", "--generation-deterministic", "--phases", "fuzzing")
    with Engine(sqlite_url) as engine, serving(engine, LIMITS) as served:
        fill(engine)
        assert judged(served, tmp_path, *left_out, *few) == ""


@pytest.mark.torture
@pytest.mark.parametrize("config", ["", KNOWN], ids=["any", "known"])
def test_every_route_answers_as_described_whatever_is_asked(served: Serving, tmp_path: Path, config: str) -> None:
    left_out = ("--exclude-path", "/v1/events", "--exclude-operation-id", "tokens.create")
    many = ("--max-examples", EXAMPLES, "--phases", "examples,coverage,fuzzing,stateful", "--max-failures", "20")
    fill(served.service.engine)
    assert judged(served, tmp_path, *left_out, *many, config=config) == ""


@pytest.mark.torture
def test_tokens_are_made_as_described(served: Serving, tmp_path: Path) -> None:
    admin = ("--header", f"Authorization: Bearer {served.service.engine.tokens.create('admin').text}")
    many = ("--max-examples", EXAMPLES, "--include-path", "/v1/tokens", "--phases", "examples,coverage,fuzzing")
    assert judged(served, tmp_path, *admin, *many) == ""
