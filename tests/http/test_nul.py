"""A NUL, which no name can have, in every text of every route: refused, or kept where any text is, never our fault."""

from collections.abc import Iterator
from itertools import repeat
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from tests.http.serving import Client

from rowlock import Engine
from rowlock.http.openapi import document
from rowlock.http.routes import ROUTES

NUL = "a\0b"
DESCRIPTION = msgspec.json.decode(msgspec.json.encode(document(ROUTES)))
# What may hold any text: it is kept as it came.
FREE = {"data", "details", "error", "record", "result", "seeks"}
REFUSED = 400, 404, 409, 422
MANY = 500

Known = dict[str, Iterator[Any]]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    return DESCRIPTION["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def plain(schema: dict[str, Any], known: Known, name: str = "") -> Any:
    """A value that fits: what is known by that name, or the least that there is."""
    schema = resolved(schema)
    if name in known:
        return next(known[name])
    if "anyOf" in schema:
        return plain(schema["anyOf"][0], known)
    least = {"string": "a", "array": [], "integer": 1, "number": 1, "boolean": False, "object": {}}
    if "properties" in schema:
        return {each: plain(schema["properties"][each], known, each) for each in schema.get("required", ())}
    return schema["enum"][0] if "enum" in schema else least.get(schema.get("type", ""))


def with_nul(schema: dict[str, Any], known: Known, where: str = "") -> Iterator[tuple[str, Any]]:
    """Documents that fit but for a NUL in one place; and the name of that place."""
    schema = resolved(schema)
    for choice in schema.get("anyOf", ()):
        yield from with_nul(choice, known, where)
    for part, value in with_nul(schema["items"], known, where) if "items" in schema else ():
        yield part, [value]
    for name, each in schema.get("properties", {}).items():
        for part, value in with_nul(each, known, f"{where}/{name}"):
            yield part, {**plain(schema, known), name: value}
    if "additionalProperties" in schema and "properties" not in schema:
        yield from ((where, {NUL: "a"}), (where, {"a": NUL}))
    elif schema.get("type") == "string" or not schema.keys() & {"type", "anyOf"}:
        yield where, NUL


def questions(known: Known) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Each question with a NUL in one place: its name, its method, its path, and what else belongs to it."""
    for path, methods in DESCRIPTION["paths"].items():
        for method, told in methods.items():
            named = {each["name"]: "a" for each in told["parameters"] if each["in"] == "path"}
            named |= {name: next(known[name]) for name in named if name in ("claim", "session")}
            whole = path.format(**named)
            for name in named:
                yield f"{path} {{{name}}}", method, path.format(**{**named, name: quote(NUL)}), {}
            for each in told["parameters"]:
                if each["in"] == "query":
                    yield f"{path}?{each['name']}", method, f"{whole}?{each['name']}={quote(NUL)}", {}
            for kind, content in told.get("requestBody", {}).get("content", {}).items():
                for where, value in with_nul(content["schema"], known):
                    body = value if kind == "text/plain" else msgspec.json.encode(value)
                    yield f"{path} {where}", method, whole, {"body": body, "content_type": kind}


@pytest.fixture
def known(engine: Engine, ask: Client) -> Known:
    """Names of things that are there, so that not every question is about nothing; of items one after the other."""
    engine["a"].add(f"{number:03}" for number in range(MANY))
    engine.counter("a").raise_to(1)
    engine.schedule("a").set("a", every="1w")
    engine.topic("a").define({"a": "text"})
    session = ask.json("POST", "/v1/sessions", {"expiry": "1h"})["session"]
    claim = ask.json("POST", "/v1/lists/a/claims", {"session": session, "limit": MANY})
    engine["a"].add("a")
    always = {"session": session, "claim": claim["claim"], "url": "http://localhost:1/", "every": "1h"}
    # From both ends: an item that was settled by its position is not settled again by its key.
    items = {
        "key": iter([item["key"] for item in reversed(claim["items"])]),
        "position": iter([item["position"] for item in claim["items"]]),
    }
    return {**{name: repeat(value) for name, value in always.items()}, **items}


def is_free(place: str) -> bool:
    """Whether a NUL may stand there; a trip tells by itself what is wrong with each of its parts."""
    path, _, where = place.partition(" ")
    return path == "/v1/claims" or not FREE.isdisjoint(where.split("/"))


def test_a_nul_is_refused_or_kept_but_never_our_fault(ask: Client, known: Known) -> None:
    asked = 0
    for place, method, path, rest in questions(known):
        reply = ask(method.upper(), path, rest.pop("body", None), accept="application/json", **rest)
        told = reply.status in REFUSED or (is_free(place) and reply.status < 300)
        assert told, f"{method} {place}: {reply.status} {reply.text}"
        assert '"status":5' not in reply.text, f"{method} {place}: {reply.status} {reply.text}"
        asked += 1
    assert asked > 200
