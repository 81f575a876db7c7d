"""`rowlock ls`, `show` and `status`: what comes out, in a pipe and as JSON."""

import subprocess
from pathlib import Path

import msgspec
import pytest
from tests.faces.shell import PROGRAM, QuickShell, Shell
from tests.waiting import WAIT_SECONDS

from rowlock import Engine


@pytest.fixture
def fruit(any_quick: Shell) -> Shell:
    with Engine(any_quick.environment["ROWLOCK_DATABASE_URL"]) as engine:
        engine["fruit"].add(["apple", "pear", "plum"])
        engine["fruit"].increment("pear", error="too\nhard")
    return any_quick


@pytest.fixture
def many(quick: Shell) -> Shell:
    with Engine(str(quick.folder / "rowlock.db")) as engine:
        engine["many"].add(f"key-{number:05}" for number in range(5_000))
    return quick


def test_lines_are_key_attempts_and_state(fruit: Shell) -> None:
    assert fruit("ls", "fruit").out == "apple\t0\tready\npear\t1\tready\nplum\t0\tready\n"


def test_a_tab_in_a_key_cannot_be_mistaken_for_the_end_of_a_column(quick: Shell) -> None:
    quick("add", "fruit", "a\tb", "c\\t")
    assert quick("ls", "fruit").out == "a\\tb\t0\tready\nc\\\\t\t0\tready\n"
    assert quick("ls", "fruit", "-k").out == "a\tb\nc\\t\n"


def test_the_failures_of_one_item_are_shown(fruit: Shell) -> None:
    shown = fruit("failures", "fruit", "pear").out.rstrip("\n").split("\t")
    assert (shown[0], shown[2:]) == ("1", ["increment", "", "too hard"])


def test_results_are_shown_in_every_form(any_quick: Shell) -> None:
    with Engine(any_quick.environment["ROWLOCK_DATABASE_URL"]) as engine:
        engine["fruit"].settings(keep_results=True)
        engine["fruit"].add(["apple", "pear"])
        with engine.session() as session:
            for claim in session.claim(engine["fruit"]):
                for item, result in zip(claim, [{"size": 3}, "a,b"], strict=True):
                    claim.done(item, result)
    cells = [line.split("\t") for line in any_quick("results", "fruit").lines]
    assert [(cell[0], cell[1], cell[3]) for cell in cells] == [("apple", "0", '{"size":3}'), ("pear", "0", '"a,b"')]
    assert [each["result"] for each in any_quick("results", "fruit", "--json").document["results"]] == [
        {"size": 3},
        "a,b",
    ]
    assert [msgspec.json.decode(line)["key"] for line in any_quick("results", "fruit", "--ndjson").lines] == [
        "apple",
        "pear",
    ]
    headings, _, pear = any_quick("results", "fruit", "--csv").lines
    assert (headings, pear.split(",", 1)[0], pear.endswith('"""a,b"""')) == (
        "key,attempts,settled_at,result",
        "pear",
        True,
    )


def test_one_item_is_shown_with_its_failures(fruit: Shell) -> None:
    shown = [line.split("\t") for line in fruit("show", "fruit", "pear").lines]
    assert shown[:4] == [["key", "pear"], ["list", "fruit"], ["state", "ready"], ["attempts", "1"]]
    assert (shown[-1][0], shown[-1][1], shown[-1][-1]) == ("failure", "1", "too hard")


def test_one_item_as_json_has_its_failures(fruit: Shell) -> None:
    item = fruit("show", "fruit", "pear", "--json").document
    assert (item["list"], item["key"], item["failures"][0]["message"]) == ("fruit", "pear", "too\nhard")


def test_status_counts_every_state(fruit: Shell) -> None:
    fruit("add", "fruit", "fig", "--due", "1h")
    fruit("add", "fruit", "kiwi", "--gate", "3")
    fruit("done", "fruit", "plum")
    assert fruit("status").out == "fruit\topen\t0\t2\t1\t1\t0\t0\t1\t20%\n"


def test_progress_is_in_whole_percents_and_a_hundred_when_all_is_done(quick: QuickShell) -> None:
    quick("add", "three", "a", "b", "c")
    quick("done", "three", "a", "b")
    assert quick("status", "three").out.endswith("\t66%\n")
    quick("done", "three", "c")
    assert quick("status", "three").out.endswith("\t100%\n")
    quick("add", "given-up", "a")
    quick("abandon", "given-up", "a")
    assert quick("status", "given-up").out.endswith("\t0%\n")
    quick("seal", "given-up")
    assert quick("status", "given-up").out.endswith("\t100%\n")


def test_status_of_one_list_as_json_is_one_object(fruit: Shell) -> None:
    info = fruit("status", "fruit", "--json").document
    assert (info["name"], info["counts"]["ready"], info["progress"]["added"]) == ("fruit", 3, 3)


def test_ls_without_a_list_lists_the_lists(fruit: Shell) -> None:
    assert fruit("ls").out == fruit("status").out


def test_a_page_starts_after_a_key_and_is_bounded(many: Shell) -> None:
    assert many("ls", "many", "--after", "key-00100", "-n", "2", "-k").lines == ["key-00101", "key-00102"]


def test_without_a_limit_all_pages_are_listed(many: Shell) -> None:
    assert len(many("ls", "many").lines) == 5_000


def test_a_limit_may_be_longer_than_a_page(many: Shell) -> None:
    assert len(many("ls", "many", "--limit", "2500").lines) == 2_500


def test_a_limit_of_nothing_gives_nothing(many: Shell) -> None:
    assert (many("ls", "many", "-n", "0").status, many("ls", "many", "-n", "0").out) == (0, "")


def test_json_is_one_document(many: Shell) -> None:
    assert len(many("ls", "many", "--json").document["items"]) == 5_000


def test_an_empty_list_is_an_empty_document(quick: Shell) -> None:
    quick("settings", "fruit", "attempts=3")
    assert quick("ls", "fruit", "--json").document == {"items": []}


def test_ndjson_is_an_object_to_a_line(many: Shell) -> None:
    last = many("ls", "many", "--ndjson").lines[-1]
    assert msgspec.json.decode(last)["key"] == "key-04999"


def test_items_are_listed_by_state(quick: Shell) -> None:
    quick("add", "fruit", "apple")
    quick("add", "fruit", "pear", "--due", "1h")
    assert quick("ls", "fruit", "--state", "delayed").out == "pear\t0\tdelayed\n"


def test_an_unknown_state_is_refused_with_those_there_are(quick: Shell) -> None:
    ran = quick("ls", "fruit", "--state", "dead")
    assert ran.status == 2
    assert "'ready', 'delayed', 'gated', 'claimed', 'failed'" in ran.error


def test_a_closed_pipe_is_no_error(many: Shell) -> None:
    listing = many.start("ls", "many")
    assert listing.stdout
    assert listing.stdout.readline() == b"key-00000\t0\tready\n"
    listing.stdout.close()
    assert listing.stderr
    assert listing.stderr.read() == b""
    assert listing.wait(timeout=WAIT_SECONDS) in (0, 141)
    listing.communicate()


def test_an_output_that_cannot_be_written_is_reported(many: Shell) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [*PROGRAM, "ls", "many"], stdout=full, stderr=subprocess.PIPE, cwd=many.folder, env=many.environment
        )
    assert (ran.returncode, ran.stderr) == (74, b"rowlock: reading or writing failed: no space left on device\n")


def test_a_key_with_control_characters_is_raw_in_a_pipe(shell: Shell) -> None:
    shell("add", "fruit", "a\x1b[31mb")
    assert shell("ls", "fruit", "-k").out == "a\x1b[31mb\n"


def test_output_is_utf8_whatever_the_locale(shell: Shell) -> None:
    shell("add", "fruit", "日本")
    assert shell("ls", "fruit", "-k", PYTHONIOENCODING="latin-1").out == "日本\n"


def test_an_unknown_list_suggests_the_closest_name(fruit: Shell) -> None:
    ran = fruit("ls", "friut")
    assert (ran.status, ran.error) == (3, "rowlock: there is no list 'friut'\n  did you mean 'fruit'?\n")


def test_an_unknown_item_is_reported(fruit: Shell) -> None:
    ran = fruit("show", "fruit", "grape")
    assert ran.status == 3
    assert "the list 'fruit' has no item 'grape'" in ran.error


@pytest.mark.parametrize(
    "command", [["ls", "fruit"], ["status"], ["show", "fruit", "a"], ["done", "fruit", "a"], ["doctor"]]
)
def test_looking_does_not_make_a_database(quick: Shell, command: list[str]) -> None:
    ran = quick(*command)
    assert (ran.status, list(quick.folder.iterdir())) == (3, [])
    assert ran.error == "rowlock: the database rowlock.db does not exist\n  begin with: rowlock add LIST KEY\n"
