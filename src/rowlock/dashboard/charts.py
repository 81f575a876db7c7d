"""Charts of throughput: bars that the server draws as SVG, so that they need no script."""

from collections.abc import Sequence

import msgspec

from rowlock.dashboard.frame import PageRequest
from rowlock.errors import InvalidQuery
from rowlock.throughput import Throughput

SPANS = {"15m": "15 minutes", "1h": "hour", "24h": "day", "7d": "7 days"}
DEFAULT_SPAN = "1h"
WIDTH, HEIGHT = 1000, 150
MAX_LABELS = 6


class Bar(msgspec.Struct, frozen=True):
    """One step of a chart: where it stands and how high its two parts are."""

    x: float
    width: float
    done: float
    failed: float
    title: str


class Chart(msgspec.Struct, frozen=True):
    """A chart of done and failed items, in units of its view box."""

    bars: Sequence[Bar]
    labels: Sequence[tuple[float, str]]
    """Where a label stands, as a share of the width, and what it says."""
    top: float
    """Items per minute at the upper edge."""
    done: int
    failed: int


def read_span(page: PageRequest) -> str:
    """Return the span that a page shows."""
    span = page.query.get("span", DEFAULT_SPAN)
    if span not in SPANS:
        raise InvalidQuery(f"span must be one of {', '.join(SPANS)}, got {span[:50]!r}", "choose one of the links")
    return span


def chart(series: Throughput) -> Chart:
    """Return the chart of a series, in items per minute."""
    minutes = series.step / 60
    top = max([(each.done + each.failed) / minutes for each in series.steps] + [1.0])
    width = WIDTH / max(len(series.steps), 1)
    form = "%H:%M" if series.step < 3_600 else "%d %b %H:%M"
    bars = [
        Bar(
            round(number * width, 2),
            round(width * 0.8, 2),
            round(HEIGHT * each.done / minutes / top, 2),
            round(HEIGHT * each.failed / minutes / top, 2),
            f"{each.at:{form}}: {each.done:,} done, {each.failed:,} failed",
        )
        for number, each in enumerate(series.steps)
    ]
    every = max(len(series.steps) // MAX_LABELS, 1)
    labels = [(bars[number].x, f"{series.steps[number].at:{form}}") for number in range(0, len(bars), every)]
    done, failed = sum(each.done for each in series.steps), sum(each.failed for each in series.steps)
    return Chart(bars, labels[:MAX_LABELS], top, done, failed)
