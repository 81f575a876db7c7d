"""A server of the Model Context Protocol: tools for assistants, made from the table of operations.

A tool is one request to the service: to a server, or to the service of a database in this process. So an assistant gets
the checks, errors and audit of every other caller.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import msgspec
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

import rowlock
from rowlock.api.documents import cell
from rowlock.api.items import FilterQuery
from rowlock.client.errors import unreachable
from rowlock.client.transport import quote_segment
from rowlock.engine import Engine
from rowlock.http.auth import Principal
from rowlock.http.routes import SERVED
from rowlock.http.routing import Route
from rowlock.http.service import Service
from rowlock.roles import Role, allows

INSTRUCTIONS = """\
rowlock keeps lists of items that workers do. An item is ready, delayed, gated, claimed or failed; done items leave the
list. Begin with overview_show, which names what needs attention. failures_groups groups the errors of a list,
items_search finds the items, items_show has the data and all errors of one. Pages are bounded: give the `next` of one
as `after` of the next."""
WORKER_TAGS = ("claims", "sessions")
"""Groups whose writes are for programs that send heartbeats."""
TIMEOUT_SECONDS = 60.0


class OperationTools:
    """The operations that a role allows as tools, each one request to the service."""

    def __init__(self, http: httpx2.AsyncClient, *, role: Role) -> None:
        self._http = http
        self._routes = {route.name.replace(".", "_"): route for route in SERVED if _is_tool(route, role)}

    def server(self) -> Server[Any]:
        """Return the server that offers them."""
        return Server(
            "rowlock",
            version=rowlock.__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call,
        )

    async def list_tools(self, *_: Any) -> ListToolsResult:
        """Return all tools in one page."""
        return ListToolsResult(tools=[_tool(name, route) for name, route in self._routes.items()])

    async def call(self, _: Any, params: CallToolRequestParams) -> CallToolResult:
        """Send the request of a tool; an error is a problem document that the assistant can read."""
        route = self._routes.get(params.name)
        if route is None:
            hint = "tools/list names them, and writes need `rowlock mcp --allow-writes`"
            return _result(f"there is no tool {params.name!r}: {hint}", is_error=True)
        arguments = dict(params.arguments or {})
        if missing := [name for name in route.parameters if not arguments.get(name)]:
            return _result(f"{params.name} needs the argument {missing[0]}", is_error=True)
        try:
            response = await self._http.request(**_request(route, arguments))
        except httpx2.TransportError as error:
            return _result(str(unreachable(error, str(self._http.base_url))), is_error=True)
        except ValueError:  # not a number, infinity, or half a character
            return _result(f"the arguments of {params.name} must be JSON, with finite numbers", is_error=True)
        return _result(response.text.strip(), is_error=response.is_error)


def _is_tool(route: Route, role: Role) -> bool:
    allowed = route.role is not None and allows(role, route.role) and not route.media_type
    return allowed and (route.reads or route.tag not in WORKER_TAGS)


def _tool(name: str, route: Route) -> Tool:
    summary, more = route.documentation
    annotations = ToolAnnotations(read_only_hint=route.reads, open_world_hint=False)
    return Tool(
        name=name, description=f"{summary} {more}".strip(), input_schema=input_schema(route), annotations=annotations
    )


def input_schema(route: Route) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments: those of the path, of the query, and the fields of the body."""
    kinds = [kind for kind in (route.query_type, route.body) if kind is not None]
    found, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    query, body = [definitions.pop(each.pop("$ref", "").rpartition("/")[2], each) for each in [*found, {}][:2]]
    required = [*route.parameters, *query.get("required", ())]
    names = {name: {"type": "string", "minLength": 1} for name in route.parameters}
    return {
        "type": "object",
        "properties": {**names, **query.get("properties", {}), **body.get("properties", {})},
        "required": required if _takes_filter(route) else [*required, *body.get("required", ())],
        "additionalProperties": bool(body) and "properties" not in body,
        "$defs": definitions,
    }


def _takes_filter(route: Route) -> bool:
    """Return whether a filter in the query may take the place of the keys in the body."""
    return issubclass(route.query_type, FilterQuery)


def _request(route: Route, arguments: dict[str, Any]) -> dict[str, Any]:
    """Sort a tool's arguments into path, query and body; the service checks them."""
    path = {name: quote_segment(str(arguments.pop(name))) for name in route.parameters}
    fields = set(getattr(route.body, "__struct_encode_fields__", ()))
    # What no field has goes where the service refuses it by name.
    in_query = set(arguments) if route.body is None else {*route.query_type.__struct_encode_fields__} - fields
    query = {name: arguments.pop(name) for name in in_query & set(arguments)}
    given = {name: cell(value) for name, value in query.items() if value is not None}
    sent: dict[str, Any] = {"method": route.method, "url": route.path.format(**path), "params": given}
    sent["headers"] = {"accept": "application/json"}
    return {**sent, "json": arguments} if arguments else sent


def _result(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=is_error)


@asynccontextmanager
async def database_service(engine: Engine, role: Role) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve a database in this process, without a socket, to a caller who has the role."""

    async def authorize(_: Any) -> Principal:
        return Principal("mcp", role)

    service = Service(engine, authorize=authorize)
    transport = httpx2.ASGITransport(app=service)
    async with service.lifespan(), httpx2.AsyncClient(transport=transport, base_url="http://rowlock") as http:
        yield http


def remote_service(url: str, token: str | None) -> httpx2.AsyncClient:
    """Return a client of a server, which decides by the token what is allowed."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return httpx2.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT_SECONDS)


async def serve(service: AbstractAsyncContextManager[httpx2.AsyncClient], *, role: Role) -> None:
    """Offer what the role allows on standard input and output, until the input ends."""
    async with service as http, stdio_server() as (read_stream, write_stream):
        server = OperationTools(http, role=role).server()
        await server.run(read_stream, write_stream, server.create_initialization_options())
