"""`rowlock export` and `import`: lists travel whole, in every format, and twice is as good as once."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.faces.shell import QuickShell, Shell

from rowlock import Engine, Move


@pytest.fixture
def filled(url: str) -> Iterator[Engine]:
    """A list with an item of each kind, a list that is awaited, and one that is sealed."""
    with Engine(url) as engine:
        work = engine["work"]
        work.settings(attempts=4, keep_results=True, gates=["fetch", "rank"], keep_for="3d")
        engine["awaited"].add("x")
        work.add(["z", "y", "fails", "waits", "ends", "stays"], data={"n": [1, 2.5, "\t\n,\"'"]})
        work.add("late", due="5d", priority=0)
        work.add("gated", gate=1, data="")
        with engine.session(holder="ann") as session:
            for claim in session.claim(work, limit=6):
                by_key = {item.key: item for item in claim}
                claim.fail(by_key["fails"], "bad\nluck")
                claim.say(by_key["waits"], Move(until="awaited"))
                claim.done(by_key["ends"], {"size": 3})
                claim.retry(by_key["stays"], "again", after="1h")
                break
        engine["awaited"].pause()
        engine["sealed"].add("last")
        engine["sealed"].seal()
        yield engine


NAMES = ("work", "awaited", "sealed")


@pytest.fixture
def other(tmp_path: Path) -> QuickShell:
    """A shell on an empty SQLite file."""
    (tmp_path / "other").mkdir()
    return QuickShell(tmp_path / "other")


def comparable(lines: list[str]) -> list[dict[str, object]]:
    """Records without positions, which each database gives out itself; the order of handing out is compared apart."""
    return [{name: value for name, value in msgspec.json.decode(line).items() if name != "position"} for line in lines]


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_lists_are_the_same_after_a_way_through_a_file(
    filled: Engine, any_quick: QuickShell, other: QuickShell, form: str
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    file = str(any_quick.folder / f"lists.{form}")
    assert any_quick("export", *NAMES, "-o", file).status == 0
    assert other("import", file).lines == ["lists\t3", "added\t9", "existing\t0", "results\t1", "remembered\t0"]
    before, after = any_quick("export", *NAMES), other("export", *NAMES)
    assert comparable(after.lines) == comparable(before.lines)
    assert any_quick("ls", "work").out == other("ls", "work").out


def test_to_import_again_changes_nothing(filled: Engine, any_quick: QuickShell, other: QuickShell) -> None:
    exported = any_quick("export", *NAMES).out
    other("import", "-", given=exported)
    before = other("export", *NAMES).out
    assert other("import", given=exported).lines == [
        "lists\t3",
        "added\t0",
        "existing\t9",
        "results\t0",
        "remembered\t0",
    ]
    assert other("export", *NAMES).out == before
    assert other("doctor", "--json").status == 0


def test_items_are_handed_out_in_the_order_they_had(filled: Engine, any_quick: QuickShell, other: QuickShell) -> None:
    other("import", given=any_quick("export", "work", "awaited").out)
    assert other("claim", "work", "-n", "9").lines[1:] == ["z", "y"]


def test_an_item_still_waits_for_its_list(filled: Engine, any_quick: QuickShell, other: QuickShell) -> None:
    other("import", given=any_quick("export", "work", "awaited").out)
    other("complete", "awaited")
    assert other("show", "work", "waits").lines[2] == "state\tready"


def test_an_item_whose_list_is_not_in_the_file_is_ready(filled: Engine, any_quick: QuickShell, other: Shell) -> None:
    other("import", given=any_quick("export", "work").out)
    assert other("show", "work", "waits").lines[2] == "state\tready"


LIST = '{"record":"list","list":"work"}\n'
ITEM = (
    '{"record":"item","list":"work","key":"a","state":"ready","attempts":0,"gate":0,"priority":5,"position":1,'
    '"due":null,"failed_at":null,"version":1,"data":null,"trace":null}\n'
)


def failed(**fields: object) -> str:
    """Return the record of an item with one error, which has these fields."""
    error = {"attempt": 1, "at": "2030-01-01T00:00:00Z", "holder": "ann", "kind": "Bad", "message": "luck"} | fields
    return f'{ITEM[:-2]},"errors":[{msgspec.json.encode(error).decode()}]}}\n'


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("", "the file has no records"),
        (LIST + ITEM + ITEM, "the item 'a' of the list 'work' stands twice in the file"),
        (ITEM, "the item 'a' of the list 'work' comes without a record of its list"),
        (LIST + ITEM.replace('"a"', '""'), "line 2: the key '' is empty"),
        (
            LIST + ITEM.replace('"due":null', '"due":"9999-12-31T23:59:59-05:00"'),
            "line 2: a time must be before the year 10000",
        ),
        (LIST + ITEM.replace('"due":null', '"due":"10000-01-01T00:00:00Z"'), "line 2: "),
        (
            LIST + ITEM.replace('"due":null', '"due":"0001-01-01T00:00:00+23:59"'),
            "line 2: a time must not be before the year 1 in UTC",
        ),
        (LIST + ITEM.replace('"gate":0', '"gate":-1'), "line 2: gate must be 0 to "),
        (LIST + ITEM.replace('"attempts":0', '"attempts":-1'), "line 2: attempts must be 0 to "),
        (LIST + ITEM.replace('"trace":null', '"trace":"x"'), "line 2: trace must be a W3C traceparent"),
        (LIST + ITEM[:-2] + ',"until":"work"}', "line 2: the item 'a' waits for its own list"),
        (LIST + ITEM[:-2] + ',"until":""}', "line 2: the list name ''"),
        (LIST + failed(attempt=2**31), "line 2: attempt of an error must be 0 to "),
        (LIST + failed(holder="a\0"), "line 2: holder of an error must be text"),
        (LIST + failed(kind="\0"), "line 2: kind of an error must be text"),
        (LIST + ITEM[:-2] + ',"colour":1}', "line 2: unknown field 'colour'"),
        (LIST + "{", "line 2: it must be a JSON object"),
        ('{"record":"list","list":"work","settings":{"attempts":-1}}', "line 1: "),
    ],
)
def test_a_wrong_file_is_refused_and_nothing_is_imported(quick: QuickShell, given: str, wrong: str) -> None:
    ran = quick("import", given=given)
    assert (ran.status, wrong in ran.error) == (2, True), ran.error
    assert not (quick.folder / "rowlock.db").exists() or quick("status").out == ""


def test_a_list_that_does_not_exist_cannot_be_exported(quick: QuickShell) -> None:
    quick("add", "work", "a")
    assert "did you mean 'work'?" in quick("export", "wrok").error


def test_a_key_that_was_done_is_not_imported_into_a_list_that_remembers(quick: QuickShell) -> None:
    quick("add", "work", "a", "b", "--once")
    exported = quick("export", "work").out
    quick("done", "work", "a")
    assert quick("import", given=exported).lines[1:3] == ["added\t0", "existing\t2"]


def test_keys_that_are_remembered_as_done_travel_along(any_quick: QuickShell, other: QuickShell) -> None:
    any_quick("add", "mail", "ann", "bob", "--once")
    any_quick("done", "mail", "ann")
    exported = any_quick("export", "mail").out
    assert other("import", given=exported).lines[-1] == "remembered\t1"
    assert other("add", "mail", "ann", "--json").document == {"added": 0, "existing": 0, "done_before": 1}
    assert comparable(other("export", "mail").lines) == comparable(exported.splitlines())
    assert other("import", given=exported).lines[-1] == "remembered\t0"
