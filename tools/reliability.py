"""Write docs/reliability.md from the report of `make torture`: what was broken, how often, and with which result.

make torture && python tools/reliability.py .venv/torture.xml
"""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
FAULT, SECONDS = "fault ", "seconds until "
TEXT = """# Reliability

What was broken on purpose, how often, and what came of it. `tools/reliability.py` made this page from the report of
`{run}`; do not edit it. A run without a failure shows that these tests found nothing, no more.

The run: {tests} tests in {minutes} minutes, {failed} failed, {skipped} skipped.

## Faults

Each test checks the promises that its fault endangers. After a worker, PostgreSQL or a leader was killed, a machine was
cut off from the network, or a clock jumped: each item was done once, and none is lost. After a power cut, on a full
disk and after a write or a flush that failed: what was confirmed is there and whole. After the HTTP service was killed:
what it answered is there, and nothing is half there. Of counters: no number came twice.

| fault | how often | tests | failed |
| --- | ---: | ---: | ---: |
{faults}

## Recovery

The longest time that was measured, on a machine that ran other tests too.

| seconds until | measured |
| --- | ---: |
{recovery}

## Tests of this run

| tests | passed | failed | skipped |
| --- | ---: | ---: | ---: |
{files}

## What was not tried

Nodes of a Patroni cluster that are cut off from each other, names of files that a power cut loses, memory over
hours, a CockroachDB cluster.
"""


class Report:
    """The sums of one run."""

    def __init__(self, path: Path) -> None:
        self.results: Counter[tuple[str, str]] = Counter()
        self.faults: Counter[tuple[str, str]] = Counter()
        self.recovery: dict[str, float] = {}
        root = ElementTree.parse(path).getroot()  # noqa: S314 - our own report
        self.seconds = sum(float(suite.get("time", 0)) for suite in root.iter("testsuite"))
        for case in root.iter("testcase"):
            self._count(case)

    def _count(self, case: ElementTree.Element) -> None:
        result = next((name for name in ("failure", "error", "skipped") if case.find(name) is not None), "passed")
        result = "failed" if result in ("failure", "error") else result
        self.results[_area(case.get("classname", "")), result] += 1
        for each in case.iter("property"):
            name, value = str(each.get("name")), str(each.get("value"))
            if name.startswith(FAULT) and result != "skipped":
                what = name.removeprefix(FAULT)
                self.faults[what, "times"] += int(value)
                self.faults[what, "tests"] += 1
                self.faults[what, "failed"] += result == "failed"
            elif name.startswith(SECONDS):
                what = name.removeprefix(SECONDS)
                self.recovery[what] = max(float(value), self.recovery.get(what, 0.0))

    def page(self, run: str) -> str:
        """Return the text of the page."""
        areas = sorted({area for area, _ in self.results})
        kinds = ("passed", "failed", "skipped")
        return TEXT.format(
            run=run,
            tests=self.results.total(),
            minutes=round(self.seconds / 60),
            failed=self._sum("failed"),
            skipped=self._sum("skipped"),
            faults=_rows(
                [what, *(f"{self.faults[what, each]:,}" for each in ("times", "tests", "failed"))]
                for what in sorted({what for what, _ in self.faults})
            ),
            recovery=_rows([what, f"{seconds:.1f}"] for what, seconds in sorted(self.recovery.items())),
            files=_rows([f"`{area}`", *(str(self.results[area, kind]) for kind in kinds)] for area in areas),
        )

    def _sum(self, kind: str) -> int:
        return sum(count for (_, result), count in self.results.items() if result == kind)


def _area(classname: str) -> str:
    return "/".join(classname.split(".")[:2])


def _rows(rows: Iterable[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    PAGE.write_text(Report(Path(sys.argv[1])).page(" ".join(sys.argv[2:]) or "make torture"))
