"""What the service says about itself: health checks, metrics, the access log and its description."""

import asyncio
import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

import rowlock
from rowlock import backlog, diagnostics, schema
from rowlock.api.server_limits import ServerLimits
from rowlock.api.service import Alive, HealthCheck, Ready, SystemInfo
from rowlock.backlog import MAX_LISTS, WorkloadSnapshot
from rowlock.diagnostics import now, probe_write
from rowlock.engine import Engine
from rowlock.errors import RowlockError
from rowlock.http.executor import VerbExecutor
from rowlock.http.problems import without_address
from rowlock.http.requests import Request
from rowlock.http.responses import Response

if TYPE_CHECKING:
    from prometheus_client.core import Metric

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
HEALTH_SECONDS = 2.0
"""How long the database may take to answer a health check."""
LOG_FLUSH_SECONDS = 0.2
CHECKS_SECONDS = 60.0
"""How old the findings about the database may be: to look takes several statements."""
NOT_LOGGED = ("/livez", "/readyz")

_TOKEN = re.compile(r"rl_[0-9A-Za-z]{36}")


class AccessLog:
    """One line of JSON for each request, written a few times a second, so that no request waits for the disk."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._lines: list[bytes] = []

    def note(self, request: Request, *, status: int, sent: int, seconds: float) -> None:
        """Log one request."""
        path = request.scope["path"]
        if path in NOT_LOGGED:
            return
        if not self._lines:
            asyncio.get_running_loop().call_later(LOG_FLUSH_SECONDS, self.flush)
        line = {
            "at": round(time.time(), 3),
            "request": request.id.decode(),
            "client": request.client_host,
            "method": request.method,
            # A token does not belong in a URL; if a client puts one there, the log must not keep it.
            "path": _TOKEN.sub("rl_…", path),
            "query": _TOKEN.sub("rl_…", request.scope["query_string"].decode("latin-1")),
            "status": status,
            "bytes": sent,
            "ms": round(seconds * 1_000, 2),
        }
        self._lines.append(msgspec.json.encode(line))

    def flush(self) -> None:
        """Write the collected lines."""
        lines, self._lines = self._lines, []
        if lines:
            try:
                self._to.write(b"\n".join(lines).decode() + "\n")
                self._to.flush()
            except (OSError, ValueError):  # the reader of the log is gone; the service goes on
                return


class RequestMetrics:
    """Durations of requests by route and status; only the event loop uses it, so nothing is locked."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str, int], list[float]] = {}
        """How many requests fell into each bucket, and last the sum of their seconds."""

    def note(self, request: Request, *, status: int, seconds: float) -> None:
        """Count one request."""
        path = request.route.path
        key = (request.method if path else "", path, status)
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = [0.0] * (len(BUCKETS) + 2)
        series[bisect_left(BUCKETS, seconds)] += 1
        series[-1] += seconds

    def collect(self) -> "Iterator[Metric]":
        """Yield the counts as a family of metrics, for prometheus_client."""
        from prometheus_client.core import HistogramMetricFamily

        help_text = "How long requests took, by route and status."
        family = HistogramMetricFamily("rowlock_http_request_seconds", help_text, labels=("route", "status"))
        bounds = [*map(str, BUCKETS), "+Inf"]
        for (method, path, status), (*counts, seconds) in self._series.items():
            name = f"{method} {path}" if path else "none"
            buckets = list(zip(bounds, accumulate(counts), strict=True))
            family.add_metric((name, str(status)), buckets, seconds)
        yield family


async def metrics(request: Request) -> Response:
    """Respond with metrics for Prometheus: the workload of each list, the sessions, and the durations of requests."""
    from prometheus_client import CollectorRegistry, generate_latest  # heavy, and only this route needs it

    snapshot = await request.executor.read(backlog.snapshot, prefixes=request.principal.lists)
    registry = CollectorRegistry()
    registry.register(_WorkloadMetrics(snapshot))
    if not request.principal.lists:
        registry.register(request.service.requests)
    return Response(generate_latest(registry))


class _WorkloadMetrics:
    def __init__(self, snapshot: WorkloadSnapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> "Iterator[Metric]":
        """Yield each family of metrics, for prometheus_client."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        snapshot = self._snapshot
        shown = f"Lists told of here, at most {MAX_LISTS}."
        yield GaugeMetricFamily("rowlock_lists", shown, len(snapshot.lists))
        yield GaugeMetricFamily("rowlock_sessions", "Workers that are alive.", snapshot.sessions)
        items = GaugeMetricFamily("rowlock_items", "Items by list and state.", labels=("list", "state"))
        settled = CounterMetricFamily("rowlock_turns", "What became of items.", labels=("list", "outcome"))
        for info in snapshot.lists:
            for family, numbers in ((items, info.counts), (settled, info.progress)):
                for name, number in msgspec.structs.asdict(numbers).items():
                    family.add_metric((info.name, name), number)
        yield items
        yield settled
        oldest = "At least so long the first free item has stood in line."
        yield _by_list(GaugeMetricFamily("rowlock_oldest_ready_seconds", oldest, labels=("list",)), snapshot.waiting)
        spent = "From claim to settlement, added up over claims."
        yield _by_list(CounterMetricFamily("rowlock_claim_seconds", spent, labels=("list",)), snapshot.seconds)


def _by_list(family: Any, numbers: Mapping[str, float]) -> Any:
    for name, number in numbers.items():
        family.add_metric((name,), number)
    return family


async def livez(_: Request) -> Alive:
    """Return whether the process answers; nothing else is checked."""
    return Alive("ok", rowlock.__version__)


async def readyz(request: Request) -> Response:
    """Return whether requests can be served: the database answers, has its tables and takes writes; no shutdown."""
    checks = [HealthCheck("stopping", well=not request.service.stopping), await _check_database(request)]
    well = all(check.well for check in checks)
    shown = checks if request.query.verbose is not None else []
    return Response(Ready("ok" if well else "not ready", shown), 200 if well else 503)


async def health(request: Request) -> Response:
    """Return whether the database and the processors of this service answer; each that does not is named."""
    checks, worker = [await _check_database(request)], request.service.worker
    if worker is not None:
        failing = await request.executor.run_in_thread(worker.health)
        checks += [HealthCheck(name, well=False, what=what) for name, what in failing.items() if name != "store"]
    well = all(check.well for check in checks)
    return Response(Ready("ok" if well else "ill", checks), 200 if well else 503)


async def _check_database(request: Request) -> HealthCheck:
    service = request.service
    try:
        async with asyncio.timeout(HEALTH_SECONDS):
            await service.executor.run_in_thread(lambda: _probe(service.executor))
    except RowlockError as error:
        return HealthCheck("database", well=False, what=without_address(error, service.engine).what)
    except TimeoutError:
        return HealthCheck("database", well=False, what=f"it has not answered within {HEALTH_SECONDS:g} seconds")
    return HealthCheck("database", well=True)


def _probe(executor: VerbExecutor) -> None:
    engine = executor.engine
    schema.require(engine.database)
    engine.read(now)
    if executor.writes_refused:  # only then: a health check must not make the service write
        engine.database.run(probe_write)
        executor.writes_refused = False


async def system(request: Request) -> SystemInfo:
    """Return what `rowlock doctor` finds about the database, and how large it is, at most a minute old."""
    examine = partial(request.executor.run_in_thread, partial(_examine, request.service.engine))
    return await request.service.checks.get(examine)


def _examine(engine: Engine) -> SystemInfo:
    # A connection of its own: one that has claimed without a flush would look like a risk.
    with closing(engine.database.clone(connections=1)) as database:
        findings = list(diagnostics.examine(database, time.time))
    return SystemInfo(rowlock.__version__, engine.database.address.shown, findings, engine.read(diagnostics.sizes))


async def limits(request: Request) -> ServerLimits:
    """Return every limit of the service: sizes in bytes, times in seconds."""
    return request.service.limits


async def description(request: Request) -> Response:
    """Respond with the OpenAPI description of the service."""
    return Response(request.service.description(request.root_path))
