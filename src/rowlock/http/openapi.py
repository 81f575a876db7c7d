"""The service's description of itself, OpenAPI 3.1: made from the table of routes and the types that it names."""

from collections.abc import Iterable, Iterator, Sequence
from http import HTTPStatus
from typing import Any, get_args

import msgspec

import rowlock
from rowlock.http.routing import Route

TEXT, JSON, NDJSON, PROBLEM = "text/plain", "application/json", "application/x-ndjson", "application/problem+json"
REF = "#/components/schemas/{name}"
PROBLEM_RESPONSE = {
    "description": "Something is wrong: what, and what to do.",
    "content": {PROBLEM: {"schema": {"$ref": REF.format(name="Problem")}}, TEXT: {"schema": {"type": "string"}}},
}
_IIDY_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
IIDY_PROBLEM_RESPONSE = {
    "description": "Something is wrong, as IIDY says it.",
    "content": {JSON: {"schema": _IIDY_ERROR}, TEXT: {"schema": {"type": "string"}}},
}


class Problem(msgspec.Struct, frozen=True):
    """An error as RFC 9457 describes it; some problems have more fields."""

    type: str
    title: str
    status: int
    code: str
    """Stays the same when the words change: see the reference of errors."""
    detail: str
    """What is wrong."""
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
            "responses": {"Problem": PROBLEM_RESPONSE, "IidyProblem": IIDY_PROBLEM_RESPONSE},
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
        "parameters": list(_parameters(route)),
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


def _parameters(route: Route) -> Iterator[dict[str, Any]]:
    for name in route.parameters:
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    for field in msgspec.structs.fields(route.query_type):
        # A query cannot say null: a parameter that may be None is left out.
        choices = [each for each in get_args(field.type) if each is not type(None)]
        kind = choices[0] if type(None) in get_args(field.type) else field.type
        ((schema,), _) = msgspec.json.schema_components([kind], ref_template=REF)
        description = schema.pop("description", "")
        named = {"name": field.encode_name, "in": "query", "required": field.required}
        yield {**named, "description": description, "schema": schema}
    for name, description in _headers(route).items():
        named = {"name": name, "in": "header", "required": False}
        yield {**named, "description": description, "schema": {"type": "string"}}


def _headers(route: Route) -> dict[str, str]:
    headers = {}
    if route.versioned and route.method != "GET":
        headers["If-Match"] = "Only if it is still at the version of this ETag; else 412."
        if route.verb is None or "absent" in route.takes:
            headers["If-None-Match"] = "`*` for only if it is not there yet; else 412."
    elif route.versioned:
        headers["If-None-Match"] = "Respond with 304 if this is still the ETag."
    if route.keyed:
        headers["Idempotency-Key"] = "Repeated under the same key, it is done once and answered twice."
    return headers


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
    lines = {"type": "string", "description": "One JSON document to a line."}
    schemas_by_type = {JSON: schemas[given], TEXT: {"type": "string"}, NDJSON: lines}
    response["content"] = {media_type: {"schema": schema} for media_type, schema in schemas_by_type.items()}
    return response
