"""The service's own operations: health, limits, metrics, events and its description."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock.api.operation import Operation
from rowlock.api.server_limits import ServerLimits
from rowlock.diagnostics import Finding, TableSize
from rowlock.roles import Role


class Alive(msgspec.Struct, frozen=True):
    """The process answers."""

    status: str
    version: str


class ReadyQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much to tell."""

    verbose: Annotated[str, Meta(description="Also return the result of each check.")] | None = None


class HealthCheck(msgspec.Struct, frozen=True):
    """The result of one check."""

    name: str
    well: bool
    what: str = ""


class Ready(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether requests can be served."""

    status: str
    checks: list[HealthCheck] = []

    def text(self) -> str:
        """Return a line for each check, and the status."""
        marks = {True: "ok", False: "wrong"}
        checks = [f"{marks[each.well]}\t{each.name}{f': {each.what}' if each.what else ''}\n" for each in self.checks]
        return "".join([*checks, f"{self.status}\n"])


class SystemInfo(msgspec.Struct, frozen=True):
    """The server and its database: what is checked, and how large it is."""

    version: str
    database: str
    """Its address, without a password."""
    findings: list[Finding]
    sizes: list[TableSize]


class EventsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which events."""

    list: Annotated[str, Meta(description="Only of lists whose names begin so.")] = ""
    after: Annotated[int, Meta(description="After this number, as Last-Event-ID says it.", ge=0)] | None = None


LIVEZ = Operation(None, "GET", "/livez", None, Alive, name="health.livez")
READYZ = Operation(None, "GET", "/readyz", None, {200: Ready, 503: Ready}, query=ReadyQuery, name="health.readyz")
HEALTH = Operation(None, "GET", "/v1/health", Role.VIEWER, {200: Ready, 503: Ready}, name="health.health")
SYSTEM = Operation(None, "GET", "/v1/system", Role.OPERATOR, SystemInfo, name="system.show")
LIMITS = Operation(None, "GET", "/v1/limits", None, ServerLimits, name="health.limits")
METRICS = Operation(
    None,
    "GET",
    "/metrics",
    Role.VIEWER,
    str,
    media_type="text/plain; version=0.0.4; charset=utf-8",
    checks_prefixes=True,
    name="metrics.metrics",
)
EVENTS = Operation(
    None,
    "GET",
    "/v1/events",
    Role.VIEWER,
    str,
    query=EventsQuery,
    media_type="text/event-stream",
    checks_prefixes=True,
    name="events.events",
)
DESCRIPTION = Operation(
    None, "GET", "/openapi.json", None, dict[str, Any], media_type="application/json", name="health.description"
)
OPERATIONS = (LIVEZ, READYZ, HEALTH, SYSTEM, LIMITS, METRICS, EVENTS, DESCRIPTION)
