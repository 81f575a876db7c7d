"""Metrics for Prometheus: the workload of each list, the sessions, and the durations of requests."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec

from rowlock import workload
from rowlock.http.call import Answer, Call
from rowlock.workload import MAX_LISTS, WorkloadSnapshot

if TYPE_CHECKING:
    from prometheus_client.core import Metric

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class DurationCounts:
    """How many requests of one route and status took how long, by bucket."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0


class RequestMetrics:
    """Counts the requests of a service and how long they took; only the event loop uses it, so nothing is locked."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], DurationCounts] = {}

    def note(self, call: Call, *, status: int, seconds: float) -> None:
        """Count one request."""
        path = call.route.path
        key = (call.method if path else "", path, status)
        series = self._known.get(key)
        if series is None:
            series = self._known[key] = DurationCounts()
        series.counts[bisect_left(BUCKETS, seconds)] += 1
        series.seconds += seconds

    def collect(self) -> "Iterator[Metric]":
        """Give the counts as a family of metrics."""
        from prometheus_client.core import HistogramMetricFamily

        what = "How long requests took, by route and status."
        family = HistogramMetricFamily("rowlock_http_request_seconds", what, labels=("route", "status"))
        bounds = [*map(str, BUCKETS), "+Inf"]
        for (method, path, status), series in self._known.items():
            name = f"{method} {path}" if path else "none"
            buckets = list(zip(bounds, accumulate(series.counts), strict=True))
            family.add_metric((name, str(status)), buckets, series.seconds)
        yield family


async def metrics(call: Call) -> Answer:
    """What waits, what became of it, who works and how requests fared, as Prometheus reads it."""
    from prometheus_client import CollectorRegistry, generate_latest  # heavy, and only this route needs it

    found = await call.service.executor.read(workload.snapshot, prefixes=call.principal.lists)
    registry = CollectorRegistry()
    registry.register(_Collected(found))
    if not call.principal.lists:
        registry.register(call.service.requests)
    return Answer(generate_latest(registry))


class _Collected:
    """What was seen, as families of metrics."""

    def __init__(self, seen: WorkloadSnapshot) -> None:
        self._seen = seen

    def collect(self) -> "Iterator[Metric]":
        """Give each family."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        seen = self._seen
        yield GaugeMetricFamily("rowlock_lists", f"Lists told of here, at most {MAX_LISTS}.", len(seen.lists))
        yield GaugeMetricFamily("rowlock_sessions", "Workers that are alive.", seen.sessions)
        items = GaugeMetricFamily("rowlock_items", "Items by list and state.", labels=("list", "state"))
        settled = CounterMetricFamily("rowlock_turns", "What became of items.", labels=("list", "outcome"))
        for info in seen.lists:
            _by_name(items, info.name, msgspec.structs.asdict(info.counts))
            _by_name(settled, info.name, msgspec.structs.asdict(info.progress))
        yield items
        yield settled
        oldest = "At least so long the first free item has stood in line."
        yield _of_lists(GaugeMetricFamily("rowlock_oldest_ready_seconds", oldest, labels=("list",)), seen.waiting)
        spent = "From claim to settlement, added up over claims."
        yield _of_lists(CounterMetricFamily("rowlock_claim_seconds", spent, labels=("list",)), seen.seconds)


def _by_name(family: Any, name: str, numbers: dict[str, int]) -> None:
    for word, number in numbers.items():
        family.add_metric((name, word), number)


def _of_lists(family: Any, numbers: dict[str, float]) -> Any:
    for name, number in numbers.items():
        family.add_metric((name,), number)
    return family
