"""Write the reference of routes, docs/reference/http.md, from the table of routes.

With --check nothing is written; the exit status tells whether the page is what it should be.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rowlock.http.openapi import document
from rowlock.http.routes import ROUTES

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "http.md"

HEAD = """\
# HTTP

Every route of the service, made from the table that the server itself uses (`tools/http_reference.py`). How to speak
to it stands in [the guide](../guides/http.md), what can go wrong in [errors](errors.md). `GET /openapi.json` and
`rowlock openapi` give the same for programs.
"""


def page() -> str:
    """The whole page."""
    described = document(ROUTES)
    parts = [HEAD]
    for noun in dict.fromkeys(route.name.partition(".")[0] for route in ROUTES):
        parts.append(f"## {noun.capitalize()}\n")
        parts += [
            "\n".join(_route(path, method, operation))
            for path, methods in described["paths"].items()
            for method, operation in methods.items()
            if operation["tags"] == [noun]
        ]
    parts.append("## Forms\n")
    parts += ["\n".join(_form(name, schema)) for name, schema in sorted(described["components"]["schemas"].items())]
    return "\n".join(parts)


def _route(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"### `{method.upper()} {path}`\n"
    yield f"{operation['summary']} {operation.get('description', '')}".strip() + "\n"
    yield f"*Role:* {operation['x-role']}.{_taken(operation)} *Answer:* {_given(operation)}.\n"
    told = [each for each in operation["parameters"] if each["in"] != "path"]
    if told:
        yield "| | in | |"
        yield "| --- | --- | --- |"
        for each in told:
            must = " (needed)" if each["required"] else ""
            yield f"| `{each['name']}` | {each['in']} | {each['description']}{must} |"
        yield ""


def _taken(operation: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        return ""
    kinds = [_kind(name, each["schema"]) for name, each in content.items()]
    return f" *Body:* {', '.join(kinds)}."


def _kind(name: str, schema: dict[str, Any]) -> str:
    if name == "application/json":
        return f"JSON {_shown(schema)}"
    return "lines of text" if name == "text/plain" else "NDJSON"


def _given(operation: dict[str, Any]) -> str:
    said = []
    for status, response in operation["responses"].items():
        if status != "default":
            kinds = response.get("content", {})
            form = _shown(next(iter(kinds.values()))["schema"]) if kinds else "nothing"
            said.append(f"{status} {form}")
    return ", ".join(said)


def _form(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    if "enum" in schema:
        yield f"{schema.get('description', '')} One of {', '.join(f'`{each}`' for each in schema['enum'])}.\n"
        return
    yield schema.get("description", "") + "\n"
    yield "| field | type | |"
    yield "| --- | --- | --- |"
    required = schema.get("required", [])
    for field, kind in schema.get("properties", {}).items():
        default = "" if field in required else f"default `{msgspec.json.encode(kind.get('default')).decode()}`"
        yield f"| `{field}` | {_shown(kind)} | {default} |"
    yield ""


def _shown(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_shown, schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_shown(schema.get('items', {}))}"
    if schema.get("format") == "date-time":
        return "time"
    return str(schema.get("type", "anything"))


if __name__ == "__main__":
    written = page()
    if "--check" in sys.argv:
        if PAGE.read_text() != written:
            sys.exit("docs/reference/http.md is not what the table of routes says; run: python tools/http_reference.py")
    else:
        PAGE.write_text(written)
