"""The service's description of itself, OpenAPI 3.1: made from the table of routes and the types that it names."""

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, get_args

import msgspec

import rowlock
from rowlock.http.routing import Route

TEXT, JSON, NDJSON, PROBLEM = "text/plain", "application/json", "application/x-ndjson", "application/problem+json"
REF = "#/components/schemas/{name}"


class Problem(msgspec.Struct, frozen=True):
    """What is wrong, as RFC 9457 says it; some problems have more fields."""

    type: str
    title: str
    status: int
    code: str
    """Stays the same, whatever the words: see the reference of errors."""
    detail: str
    """What was asked, and what is true."""
    hint: str
    """What to do."""
    request: str = ""


def document(routes: Sequence[Route], root_path: str = "") -> dict[str, Any]:
    """Return the whole description, of a service that is mounted under `root_path`."""
    schemas, components = _schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rowlock",
            "version": rowlock.__version__,
            "summary": "Work that must get done, tracked in the database you already have.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        **({"servers": [{"url": root_path}]} if root_path else {}),
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {"Problem": _problem(), "IidyProblem": _iidy_problem()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(routes: Iterable[Route]) -> tuple[dict[Any, Any], dict[str, Any]]:
    types: list[Any] = [Problem]
    for route in routes:
        types += [route.body, route.line, *route.answers.values()]
    known = list(dict.fromkeys(each for each in types if each is not None))
    found, components = msgspec.json.schema_components(known, ref_template=REF)
    return dict(zip(known, found, strict=True)), components


def _operation(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    summary, description = route.documentation
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": summary,
        "parameters": [*_path(route), *_query(route), *_headers(route)],
        "responses": {str(status): _response(route, status, schemas) for status in route.answers},
        "x-role": "anybody" if route.role is None else route.role.value,
        "security": [] if route.role is None else [{"token": []}, {}],
    }
    operation["responses"]["default"] = {"$ref": f"#/components/responses/{'IidyProblem' if route.iidy else 'Problem'}"}
    if description:
        operation["description"] = description
    if route.body is not None:
        operation["requestBody"] = {"content": _content(route, schemas), "required": False}
    return operation


def _path(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in route.parameters
    ]


def _query(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": field.encode_name,
            "in": "query",
            "required": field.required,
            "description": _said(field.type),
            "schema": _plain(msgspec.json.schema(_inner(field.type))),
        }
        for field in msgspec.structs.fields(route.query_type)
    ]


def _inner(kind: Any) -> Any:
    # Nothing asked for is nothing said: null cannot be written behind a question mark.
    choices = [each for each in get_args(kind) if each is not type(None)]
    return choices[0] if type(None) in get_args(kind) else kind


def _said(kind: Any) -> str:
    description: str = msgspec.json.schema(_inner(kind)).get("description", "")
    return description


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != "description"}


def _headers(route: Route) -> list[dict[str, Any]]:
    found = []
    if route.versioned and route.method != "GET":
        found.append(_header("If-Match", "Only if it is still at the version of this ETag; else 412."))
        if route.verb is None or "absent" in route.takes:
            found.append(_header("If-None-Match", "`*` for only if it is not there yet; else 412."))
    elif route.versioned:
        found.append(_header("If-None-Match", "Respond with 304 if this is still the ETag."))
    if route.keyed:
        found.append(_header("Idempotency-Key", "Asked again under the same key, it is done once and answered twice."))
    return found


def _header(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": description, "schema": {"type": "string"}}


def _content(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {JSON: {"schema": schemas[route.body]}}
    if route.takes_lines_of_text:
        content[TEXT] = {"schema": {"type": "string", "description": "Keys, one to a line."}}
    if route.line is not None and not route.iidy:
        content[NDJSON] = {"schema": {"type": "string", "description": "One JSON document to a line."}}
        content[NDJSON]["x-line"] = schemas[route.line]
    return content


def _response(route: Route, status: int, schemas: dict[Any, Any]) -> dict[str, Any]:
    given = route.answers[status]
    response: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if route.versioned:
        response["headers"] = {"ETag": {"schema": {"type": "string"}}}
    if given is None:
        return response
    if route.media_type:
        response["content"] = {route.media_type.partition(";")[0]: {"schema": schemas[given]}}
        return response
    response["content"] = {
        JSON: {"schema": schemas[given]},
        TEXT: {"schema": {"type": "string"}},
        NDJSON: {"schema": {"type": "string", "description": "One JSON document to a line."}},
    }
    return response


def _problem() -> dict[str, Any]:
    return {
        "description": "Something is wrong: what, and what to do.",
        "content": {PROBLEM: {"schema": {"$ref": REF.format(name="Problem")}}, TEXT: {"schema": {"type": "string"}}},
    }


def _iidy_problem() -> dict[str, Any]:
    told = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    return {
        "description": "Something is wrong, in the words of IIDY.",
        "content": {JSON: {"schema": told}, TEXT: {"schema": {"type": "string"}}},
    }
