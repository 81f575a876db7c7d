"""The comparison with peers: each adapter keeps the contract, and the page is made from a stored result."""

from pathlib import Path

import pytest
from bench import _compare, _report
from bench.__main__ import PARTS
from bench.peers import adapters, environments
from bench.peers.contract import AsyncPeer, Peer
from bench.peers.harness import WORKLOADS
from tests.house.places import DOCS, ROOT


def result(**rates: float) -> dict[str, object]:
    """Return a stored result of one bulk add for each peer."""
    machine = dict.fromkeys(("date", "processor", "system", "python", "PostgreSQL", "Redis"), "x")
    row = {"workload": "bulk add", "storage": "postgres", "handler": "item"}
    rows = [{**row, "peer": peer, "runs": [{"rate": rate}, {"rate": rate / 2}]} for peer, rate in rates.items()]
    known = {"versions": {}, "missing": {"honker": "no wheel"}, "notes": {}, "rows": rows}
    return {"machine": {**machine, "cores": 2, "load": 0.0, "flush": 0.0}, "rounds": 2, "scale": 1, **known}


@pytest.mark.parametrize("name", adapters.names())
def test_an_adapter_has_all_operations(name: str) -> None:
    kind = adapters.adapter(name)
    adding = "send" if issubclass(kind, AsyncPeer) else "add"
    inherited = [
        each for each in (adding, "work") if getattr(kind, each) in (getattr(Peer, each, 0), getattr(AsyncPeer, each))
    ]
    assert inherited == []
    assert kind.unfinished or kind.remaining is not Peer.remaining
    assert set(kind.storages) <= set(_compare._stores.STORES)
    assert set(kind.handlers) <= {"item", "async", "batch"}


def test_every_measurement_is_a_workload_of_the_harness_and_has_its_place_on_the_page() -> None:
    measured = (*_compare.WORKLOADS, _compare.RECOVERY)
    assert {each.run for each in measured} == set(WORKLOADS)
    assert {each.name for each in measured} == set(_report.MEANINGS)


def test_the_best_round_counts_and_a_ratio_compares_with_rowlock() -> None:
    table = "\n".join(_report.tables(result(rowlock=1000, pgmq=400)))
    assert "| PostgreSQL | **rowlock** | item | 1,000 | 500 to 1,000 |  |" in table
    assert "| PostgreSQL | pgmq | item | 400 | 200 to 400 | 2.5 × |" in table


def test_the_page_says_where_a_peer_is_ahead_and_what_is_missing() -> None:
    page = _report.page(result(rowlock=1000, pgmq=4000, raw_sql=9000))
    assert "- bulk add, PostgreSQL: pgmq (item) 4.00 ×." in page
    assert "raw SQL (item) 9" not in page
    assert "- honker: no wheel." in page


def test_a_drain_that_was_cut_short_is_named() -> None:
    found = {"missing": {}, "rows": [{"workload": "drain", "storage": "sqlite", "handler": "item", "peer": "huey"}]}
    found["rows"][0]["runs"] = [{"rate": 1, "finished": 0.0, "ran twice": 2}]
    assert [line.split(":")[1][:15] for line in _report.missing(found)] == [" cut short befo", " 2 jobs ran twi"]


def test_the_published_page_is_made_from_the_stored_result() -> None:
    assert (DOCS / "benchmarks.md").read_text() == _report.current(_compare.LATEST)


def test_a_peer_that_needs_a_newer_python_than_there_is_is_missing() -> None:
    class Newer(Peer):
        packages, python = ("none",), (9, 9)

    with pytest.raises(environments.Missing, match=r"needs Python 9\.9"):
        environments.python_of("newer", Newer)


def test_the_readme_names_every_part() -> None:
    text = Path(ROOT, "bench", "README.md").read_text()
    assert [part for part in PARTS if f"| `{part}` |" not in text] == []
