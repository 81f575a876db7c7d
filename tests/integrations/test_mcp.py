"""`rowlock mcp`, called by the client of the official SDK over standard input and output."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.http.serving import serving

from rowlock import Engine
from rowlock.api.operation import Operation

sdk = pytest.importorskip("mcp", reason="the SDK of MCP is not installed")
jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

from rowlock import mcp  # noqa: E402
from rowlock.http.routes import SERVED  # noqa: E402

Calls = list[tuple[str, dict[str, Any]]]


def answers(folder: Path, options: list[str], calls: Calls) -> tuple[set[str], list[tuple[bool, Any]]]:
    """Start `rowlock mcp`; the names of its tools, and of each call whether it failed and what it returned."""
    command = ["-m", "rowlock", "mcp", *options]
    server = sdk.StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ), cwd=folder)

    async def ask() -> tuple[set[str], list[tuple[bool, Any]]]:
        async with sdk.Client(server) as client:
            tools = (await client.list_tools()).tools
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
        return {tool.name for tool in tools}, [(each.is_error, read(each.content[0].text)) for each in results]

    return asyncio.run(ask())


def read(text: str) -> Any:
    """A document, or the text that is none."""
    return json.loads(text) if text.startswith("{") else text


def test_without_allow_writes_an_assistant_only_reads(tmp_path: Path) -> None:
    with Engine(tmp_path / "rowlock.db") as engine:
        engine["thumbs"].add(["a", "b/ü"])
    calls: Calls = [
        ("items_show", {"list": "thumbs", "key": "b/ü"}),
        ("items_page", {"list": "thumbs", "cuont": 1}),
        ("items_page", {}),
        ("items_add", {"list": "thumbs", "items": ["c"]}),
    ]
    names, (shown, misspelt, incomplete, refused) = answers(tmp_path, [], calls)
    assert names == {route.name.replace(".", "_") for route in SERVED if mcp._is_tool(route, mcp.Role.VIEWER)}
    assert (shown[0], shown[1]["key"]) == (False, "b/ü")
    assert (misspelt[0], misspelt[1]["code"], misspelt[1]["hint"]) == (True, "invalid-query", "did you mean 'count'?")
    assert incomplete == (True, "items_page needs the argument list")
    assert (refused[0], "--allow-writes" in refused[1]) == (True, True)
    with Engine(tmp_path / "rowlock.db") as engine:
        assert engine["thumbs"].counts().total == 2


def test_with_allow_writes_it_adds_and_pauses_and_the_audit_names_it(tmp_path: Path) -> None:
    with Engine(tmp_path / "rowlock.db") as engine:
        engine.make_ready()
    calls: Calls = [
        ("items_add", {"list": "mail", "items": ["a", {"key": "b", "data": {"to": "x"}}], "priority": 1}),
        ("lists_change_settings", {"list": "mail", "attempts": 3}),
        ("lists_pause", {"list": "mail"}),
        ("items_abandon", {"list": "mail", "keys": ["a"], "dry_run": True}),
    ]
    names, (added, changed, paused, counted) = answers(tmp_path, ["--allow-writes"], calls)
    assert (added, paused, counted) == (
        (False, {"added": 2, "existing": 0}),
        (False, {"changed": True}),
        (False, {"abandoned": 1, "dry_run": True}),
    )
    assert (changed[1]["settings"], {"lists_drop", "tokens_create", "claims_claim"} & names) == ({"attempts": 3}, set())
    with Engine(tmp_path / "rowlock.db") as engine:
        item = engine["mail"].show("b")
        assert (item.data, item.priority) == ({"to": "x"}, 1)
        assert {each.who for each in engine.audit()} == {"mcp"}


def test_a_server_decides_by_the_token_what_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine(tmp_path / "served.db") as engine, serving(engine) as served:
        monkeypatch.setenv("ROWLOCK_TOKEN", engine.tokens.create("viewer").text)
        address = f"http://{served.client.host}:{served.client.port}"
        calls: Calls = [("lists_page", {}), ("items_add", {"list": "mail", "items": ["a"]})]
        _, (lists, refused) = answers(tmp_path, ["--server", address, "--allow-writes"], calls)
    assert (lists[0], lists[1]["lists"]) == (False, [])
    assert (refused[0], refused[1]["code"]) == (True, "not-allowed")


def test_every_tool_has_a_name_and_a_schema_that_clients_accept() -> None:
    tools = [mcp._tool(route.name.replace(".", "_"), route) for route in SERVED]
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        known = tool.input_schema["$defs"]
        refs = re.findall(r'"#/\$defs/([^"]+)"', json.dumps(tool.input_schema))
        assert re.fullmatch(r"[a-zA-Z0-9_]{1,64}", tool.name)
        assert set(refs) <= set(known)
    assert len({tool.name for tool in tools}) == len(tools)


def test_no_argument_of_a_path_has_the_name_of_another() -> None:
    clashes = [route.name for route in SERVED if names_elsewhere(route) & set(route.parameters)]
    assert clashes == []


def names_elsewhere(operation: Operation) -> set[str]:
    """The names of arguments that are sent in the query or the body."""
    return {*operation.query_type.__struct_encode_fields__, *getattr(operation.body, "__struct_encode_fields__", ())}
