"""The workload of a database as metrics of OpenTelemetry: the figures that `/metrics` of the service has."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from opentelemetry.metrics import CallbackOptions, Meter, Observation, get_meter

from rowlock import backlog
from rowlock.backlog import WorkloadSnapshot
from rowlock.engine import Engine

Observe = Callable[[WorkloadSnapshot], Iterable[Observation]]


def export(engine: Engine, meter: Meter | None = None) -> None:
    """Register the metrics of the engine's database; each collection reads the database once.

    Every process that does so reports the whole database: do it in one of them.
    """
    meter = meter or get_meter("rowlock")
    newest: list[WorkloadSnapshot] = []

    def read(_: CallbackOptions) -> Iterator[Observation]:
        newest[:] = [engine.read(backlog.snapshot)]
        yield Observation(len(newest[0].lists))

    def later(observe: Observe) -> list[Callable[[CallbackOptions], Iterable[Observation]]]:
        return [lambda _: observe(newest[0]) if newest else []]

    # Instruments are observed in the order in which they were created, so that one read serves all.
    meter.create_observable_gauge("rowlock.lists", [read], description="Lists that are reported.")
    gauge, counter = meter.create_observable_gauge, meter.create_observable_counter
    gauge("rowlock.sessions", later(_sessions), description="Workers that are alive.")
    gauge("rowlock.items", later(_items), description="Items by list and state.")
    counter("rowlock.turns", later(_turns), description="The outcomes of items, by list.")
    gauge("rowlock.oldest_ready", later(_oldest), unit="s", description="How long the first free item has waited.")
    counter("rowlock.claim", later(_claimed), unit="s", description="Seconds from claim to settlement, added up.")


def _sessions(snapshot: WorkloadSnapshot) -> Iterable[Observation]:
    return [Observation(snapshot.sessions)]


def _items(snapshot: WorkloadSnapshot) -> Iterable[Observation]:
    return [each for info in snapshot.lists for each in _fields(info.counts, info.name, "state")]


def _turns(snapshot: WorkloadSnapshot) -> Iterable[Observation]:
    return [each for info in snapshot.lists for each in _fields(info.progress, info.name, "outcome")]


def _oldest(snapshot: WorkloadSnapshot) -> Iterable[Observation]:
    return [Observation(seconds, {"list": name}) for name, seconds in snapshot.waiting.items()]


def _claimed(snapshot: WorkloadSnapshot) -> Iterable[Observation]:
    return [Observation(seconds, {"list": name}) for name, seconds in snapshot.seconds.items()]


def _fields(numbers: Any, name: str, label: str) -> Iterator[Observation]:
    for field, number in msgspec.structs.asdict(numbers).items():
        yield Observation(number, {"list": name, label: field})
