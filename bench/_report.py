"""The page of the comparison, made from a stored result: tables, pictures, and where a peer wins."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEMPLATE = Path(__file__).parent / "_page.md"
GROWTH = Path(__file__).parent / "results" / "growth.json"
PICTURES = Path("assets") / "bench"
OURS, FLOOR = "rowlock", "raw_sql"
LABELS = {
    FLOOR: "raw SQL",
    "persistqueue": "persist-queue",
    "dbos": "DBOS",
    "saq": "SAQ",
    "rq": "RQ",
    "celery": "Celery",
}
UNPUBLISHED = """# Benchmarks

`make bench` compares rowlock with other queues and with raw SQL on your machine, and `python -m bench --publish` writes
the figures to this page. No figures are published yet: they need a full run on a machine without other work.
"""
WHAT_GROWS = "What a list costs as it grows, with keys in no order, the worst for an index: `python -m bench.growth`."
STORAGES = {"postgres": "PostgreSQL", "sqlite": "SQLite", "redis": "Redis"}


@dataclass(frozen=True)
class Measure:
    """What is shown of a workload: the name in a run, its unit, and which value is best."""

    key: str
    unit: str
    least: bool = False
    digits: int = 0


RATE = Measure("rate", "items a second")
MEASURES = {
    "latency": Measure("p50", "ms from add to start, median", least=True, digits=1),
    "recovery": Measure("seconds", "s from the kill to the next start", least=True, digits=1),
}
MEANINGS = {
    "bulk add": "Many items by the quickest documented call of each.",
    "single add": "One item at a time, each durable before the next.",
    "drain": "One worker process, from the first start until the store holds nothing unfinished. `item` and `async`"
    " call a handler for each item, `batch` calls it for many.",
    "drain, 2 processes": "Two worker processes on the same queue.",
    "drain under an open snapshot": "Another session keeps a snapshot open, as a backup does, so dead rows stay.",
    "add while draining": "One process adds by thousands while a worker drains; items a second through both.",
    "latency": "An idle worker; one item after a random pause, from just before the add until its handler runs.",
    "recovery": "A worker is killed in the midst of an item, and another one is started at once. Settings are those"
    " that each comes with. Measured once.",
}
COSTS = {
    "bytes in the store": ("bulk add", "bytes"),
    "log of an add": ("bulk add", "wal"),
    "log of a drain": ("drain", "wal"),
    "worker after a drain, MB": ("drain", "megabytes"),
}


@dataclass(frozen=True)
class Row:
    """The runs of one contender."""

    peer: str
    storage: str
    handler: str
    values: tuple[float, ...]
    least: bool
    waited: float

    @property
    def best(self) -> float | None:
        """Return the best run; None where the job was never seen again."""
        return (min if self.least else max)(self.values) if self.values else None

    @property
    def label(self) -> str:
        """Return the name of the peer as its authors write it."""
        return named(self.peer)

    def over(self, other: "Row") -> float | None:
        """Return how many times as good as another it is."""
        if self.best is None or other.best is None:
            return None
        return other.best / self.best if self.least else self.best / other.best


def rows(found: dict[str, Any], workload: str, key: str = "", *, least: bool = False) -> list[Row]:
    """Return the contenders of a workload, the best of each storage first."""
    key = key or MEASURES.get(workload, RATE).key
    made = []
    for each in found["rows"]:
        if each["workload"] == workload and each["runs"]:
            values = tuple(run[key] for run in each["runs"] if run.get(key) is not None)
            waited = max(run.get("waited", 0) for run in each["runs"])
            made.append(Row(each["peer"], each["storage"], each["handler"], values, least, waited))
    order = list(STORAGES)
    return sorted(made, key=lambda row: (order.index(row.storage), row.best is None, (row.best or 0) * (least or -1)))


def ours(row: Row, among: list[Row]) -> Row | None:
    """Return rowlock's row to compare with: on the same database and by the same kind of handler, if it has one."""
    storage = "postgres" if row.storage == "redis" else row.storage
    mine = [each for each in among if each.peer == OURS and each.storage == storage]
    return next((each for each in mine if each.handler == row.handler), mine[0] if mine else None)


def tables(found: dict[str, Any]) -> Iterator[str]:
    """Give the lines of all tables."""
    for workload, meaning in MEANINGS.items():
        least = MEASURES.get(workload, RATE).least
        contenders = rows(found, workload, least=least)
        if contenders:
            yield from ["", f"## {workload.capitalize()}", "", meaning, ""]
            yield from table(contenders, MEASURES.get(workload, RATE))
            yield from ["", f"![{workload}]({picture_of(workload)})"]
    yield from costs(found)
    yield from commands(found)
    yield from sorted_maps(found)


def table(contenders: list[Row], measure: Measure) -> Iterator[str]:
    """Give a table of contenders."""
    yield f"| store | contender | handler | {measure.unit} | all runs | rowlock is |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in contenders:
        same = ours(row, contenders)
        factor = same.over(row) if same and row.peer != OURS else None
        best = number(row.best, measure.digits) if row.best is not None else f"not in {row.waited:.0f}"
        name = f"**{row.label}**" if row.peer == OURS else row.label
        times = "" if factor is None else f"{factor:.2g} ×" if factor < 100 else f"{factor:,.0f} ×"
        spread = (
            f"{number(min(row.values), measure.digits)} to {number(max(row.values), measure.digits)}"
            if row.values[1:]
            else ""
        )
        yield f"| {STORAGES[row.storage]} | {name} | {row.handler} | {best} | {spread} | {times} |"


def number(value: float, digits: int = 0) -> str:
    """Write a number with separators."""
    return f"{value:,.{digits}f}"


def costs(found: dict[str, Any]) -> Iterator[str]:
    """Give a table of what an item takes in the store and in its log, and of the worker's memory."""
    figures: dict[tuple[str, str], dict[str, float]] = {}
    for name, (workload, key) in COSTS.items():
        for row in rows(found, workload, key, least=True):
            if row.best is not None:
                known = figures.setdefault((row.storage, row.label), {})
                known[name] = min(row.best, known.get(name, row.best))
    yield from ["", "## Bytes and memory", "", "Bytes for each item; the least of all runs.", ""]
    yield f"| store | contender | {' | '.join(COSTS)} |"
    yield f"| --- | --- |{' --- |' * len(COSTS)}"
    for storage, label in sorted(figures, key=lambda each: (list(STORAGES).index(each[0]), each[1])):
        known = figures[storage, label]
        shown = " | ".join(number(known[name]) if name in known else "" for name in COSTS)
        yield f"| {STORAGES[storage]} | {label} | {shown} |"


def commands(found: dict[str, Any]) -> Iterator[str]:
    """Give the table of programs that run a command for each item."""
    if not found.get("shell"):
        return
    yield from ["", "## A command for each item", "", "`true` for each of the same keys, four at once.", ""]
    yield from ["| program | wall time, s | CPU time, s | rowlock takes |", "| --- | --- | --- | --- |"]
    best = {who: [min(each) for each in zip(*taken, strict=True)] for who, taken in found["shell"].items()}
    for who, (wall, cpu) in best.items():
        factor = "" if who == OURS else f"{best[OURS][0] / wall:.2f} × its wall time"
        yield f"| {who} | {wall:.2f} | {cpu:.2f} | {factor} |"


def sorted_maps(found: dict[str, Any]) -> Iterator[str]:
    """Give the table of sorted maps and interval maps in memory."""
    if not found.get("trees"):
        return
    yield from [
        "",
        "## Sorted maps in memory",
        "",
        "Nanoseconds (bytes for memory) against sortedcontainers; intervals",
    ]
    yield from ["against intervaltree.", "", "| entries | operation | theirs | rowlock | rowlock takes |"]
    yield "| --- | --- | --- | --- | --- |"
    for each in found["trees"]:
        shown = f"{each['theirs']:,.0f} | {each['ours']:,.0f} | {each['ours'] / each['theirs']:.2f} ×"
        yield f"| {each['size']:,} {each['keys']} | {each['name']} | {shown} |"


def wins(found: dict[str, Any]) -> list[str]:
    """Say where a peer is ahead of rowlock."""
    lines = []
    for workload in MEANINGS:
        contenders = rows(found, workload, least=MEASURES.get(workload, RATE).least)
        for row in contenders:
            same = ours(row, contenders)
            factor = row.over(same) if same and row.peer not in (OURS, FLOOR) else None
            if factor is not None and factor > 1:
                lines.append(f"- {workload}, {STORAGES[row.storage]}: {row.label} ({row.handler}) {factor:.2f} ×.")
    best = {who: min(wall for wall, _ in taken) for who, taken in found.get("shell", {}).items()}
    faster = [who for who in best if best[who] < best[OURS]]
    lines += [f"- a command for each item: {who}, {best[OURS] / best[who]:.2f} × as fast." for who in faster]
    slower = [each for each in found.get("trees", ()) if each["ours"] > each["theirs"]]
    lines += [f"- {each['name']}, {each['keys']} keys: {each['ours'] / each['theirs']:.2f} ×." for each in slower]
    return lines or ["- nowhere in this run."]


def page(found: dict[str, Any]) -> str:
    """Return the whole page."""
    notes = [f"- {named(peer)}: {note}." for peer, note in found["notes"].items()]
    packages = {peer: ", ".join(" ".join(each) for each in known.items()) for peer, known in found["versions"].items()}
    return TEMPLATE.read_text().format(
        **found["machine"],
        rounds=rounds(found),
        notes="\n".join(notes),
        wins="\n".join(wins(found)),
        missing="\n".join(missing(found)),
        tables="\n".join([*tables(found), *growth()]),
        versions="; ".join(f"{named(peer)} ({known})" for peer, known in packages.items()),
    )


def current(stored: Path) -> str:
    """Return the page of a stored result, or one without figures where no result is stored."""
    return page(json.loads(stored.read_text())) if stored.exists() else UNPUBLISHED


def rounds(found: dict[str, Any]) -> str:
    """Say how much was measured, and what the figures are not good for."""
    number = "One round" if found["rounds"] == 1 else f"Best of {found['rounds']} rounds"
    share = f" of {found['scale']:.0%} of the items" if found["scale"] < 1 else ""
    lines = [f"{number}{share}."]
    if share:
        lines.append("Fewer items make ratios rougher, most of all those of fast peers.")
    if found["machine"]["load"] > found["machine"]["cores"] / 2:
        lines.append("**The machine had other work meanwhile.**")
    return " ".join(lines)


def missing(found: dict[str, Any]) -> list[str]:
    """Name what could not be measured, with the reason."""
    lines = [f"- {named(peer)}: {reason}." for peer, reason in found["missing"].items()]
    failed = [each for each in found["rows"] if "error" in each]
    named_rows = [
        (f"{each['workload']}, {named(each['peer'])} on {STORAGES[each['storage']]}", each) for each in failed
    ]
    lines += [f"- {name}: {each['error']}." for name, each in named_rows]
    return [*lines, *cut_short(found)] or ["Nothing is missing."]


def cut_short(found: dict[str, Any]) -> Iterator[str]:
    """Name drains that did not end in time, and jobs that ran twice."""
    for each in found["rows"]:
        name = f"{each['workload']}, {named(each['peer'])} ({each['handler']}) on {STORAGES[each['storage']]}"
        if any(run.get("finished") == 0 for run in each["runs"]):
            yield f"- {name}: cut short before all was done; the rate is that of the jobs that started."
        if twice := max((run.get("ran twice", 0) for run in each["runs"]), default=0):
            yield f"- {name}: {twice:,} jobs ran twice."


def named(peer: str) -> str:
    """Return the name of a peer as its authors write it."""
    return LABELS.get(peer, peer)


def growth() -> Iterator[str]:
    """Give the table of growth, if it was measured."""
    if not GROWTH.exists():
        return
    yield from ["", "## Growth", "", WHAT_GROWS, ""]
    yield "| store | items | add, items a second | a page, ms | claim 1,000, ms | settle 1,000, ms |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for each in json.loads(GROWTH.read_text()):
        shown = " | ".join(f"{each[name]:.2f}" for name in ("page", "claim", "settle"))
        yield f"| {STORAGES[each['database']]} | {each['items']:,} | {each['add']:,.0f} | {shown} |"


def picture_of(workload: str) -> str:
    """Return the path of a workload's picture, from the page."""
    return str(PICTURES / f"{workload.replace(',', '').replace(' ', '-')}.svg")


def publish(found: dict[str, Any], docs: Path) -> None:
    """Write the page and its pictures."""
    (docs / "benchmarks.md").write_text(page(found))
    for workload in MEANINGS:
        measure = MEASURES.get(workload, RATE)
        contenders = [row for row in rows(found, workload, least=measure.least) if row.best]
        if contenders:
            draw(contenders, docs / picture_of(workload), title=f"{workload}: {measure.unit}, on a logarithmic scale")


def draw(contenders: list[Row], file: Path, *, title: str) -> None:
    """Draw a bar for each contender on a logarithmic axis; rowlock's stand out."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "bench"
    file.parent.mkdir(parents=True, exist_ok=True)
    shown = contenders[::-1]
    names = [f"{row.label}, {row.handler} · {STORAGES[row.storage]}" for row in shown]
    colours = ["#4878a8" if row.peer == OURS else "#9aa5b1" for row in shown]
    figure, axes = pyplot.subplots(figsize=(8, 0.9 + 0.26 * len(shown)))
    axes.barh(names, [row.best or 0 for row in shown], color=colours, height=0.7)
    axes.set_xscale("log")
    axes.margins(y=0.01)
    axes.set_title(title, fontsize=10)
    axes.tick_params(labelsize=8)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
