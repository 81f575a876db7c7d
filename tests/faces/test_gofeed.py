"""A feed of items through a processor, from the outside: real workers, a real server, on every database.

Partitions are lists, a watcher is `rowlock work`, and what closes by itself is a sealed list. The numbers are those of
the checks that the feed has always had to pass.
"""

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from tests.faces.shell import QuickShell, Ran, Shell
from tests.faces.waiting import started, until
from tests.receivers import Heard, Receiver, free_port, receiver, said
from tests.waiting import WAIT_SECONDS

from rowlock import Engine

Stub = Callable[[Heard], bytes]


def passes(heard: Heard) -> bytes:
    """Counts in the data how often it was asked, is done after so many times, and says the gate that the data say."""
    data = heard.json
    data["processed"] += 1
    gate = data.get("gates", {}).get(str(data["processed"]), data.get("gate"))
    return said({"complete": data["processed"] >= data["passes"], "gate": gate, "response": data})


def error(message: str, status: str = "500 Internal Server Error", **more: Any) -> bytes:
    return said({"error": {"message": message, **more}}, status)


class Feed:
    """A shell with a processor that does as each item's key says, or counts passes."""

    def __init__(self, outside: Shell, shell: Shell | QuickShell, url: str) -> None:
        self.outside = outside
        self.shell = shell
        self.database = url
        self.stubs: dict[str, Stub] = {}
        self.server = Receiver(self._answer)

    def _answer(self, heard: Heard, _: socket.socket) -> bytes:
        return self.stubs.get(heard.headers["rowlock-key"], passes)(heard)

    def add(self, key: str, name: str = "feed", *, gate: int = 0, **data: Any) -> None:
        given = msgspec.json.encode({"processed": 0, "passes": 1, **data}).decode()
        assert self.shell("add", name, key, "--data", given, "--gate", str(gate)).status == 0

    def work(self, *options: str, name: str = "feed") -> Ran:
        return self.shell(*self.words(*options, name=name))

    def words(self, *options: str, name: str = "feed") -> tuple[str, ...]:
        quick = ("--backoff", "1ms", "--attempts", "4", "--allow-host", "localhost")
        return ("work", name, "--http", self.server.url, *quick, *options)

    def item(self, key: str, name: str = "feed") -> Any:
        return self.shell("show", name, key, "--json").document

    def keys(self, name: str = "feed") -> list[str]:
        return [line.split("\t")[0] for line in self.shell("ls", name).lines]

    def state(self, name: str = "feed") -> str:
        document: Any = self.shell("status", name, "--json").document
        info = document[0] if isinstance(document, list) else document
        return str(info["state"])

    def asked(self, key: str) -> list[Heard]:
        return [heard for heard in self.server.heard if heard.headers["rowlock-key"] == key]


@pytest.fixture(params=["quick", pytest.param("process", marks=pytest.mark.torture)])
def feed(request: pytest.FixtureRequest, any_shell: Shell, any_quick: QuickShell, url: str) -> Iterator[Feed]:
    """A feed; watchers that are killed, or many, are processes of their own, and in a torture every command is one."""
    made = Feed(any_shell, any_quick if request.param == "quick" else any_shell, url)
    yield made
    made.server.close()


def result(feed: Feed, key: str, name: str = "feed") -> Any:
    with Engine(feed.database) as engine:
        [kept] = engine[name].results(key)
        return kept


def test_01_an_item_of_three_passes_is_asked_about_three_times(feed: Feed) -> None:
    feed.shell("settings", "feed", "keep_results=true")
    feed.add("a", passes=3)
    assert feed.work().status == 0
    kept = result(feed, "a")
    assert (kept.result["processed"], kept.attempts, len(feed.asked("a"))) == (3, 0, 3)


@pytest.mark.parametrize(("sealed", "state"), [(True, "complete"), (False, "open")])
def test_02_a_list_closes_by_itself_only_if_it_is_sealed(feed: Feed, sealed: bool, state: str) -> None:
    feed.add("a", passes=3)
    if sealed:
        feed.shell("seal", "feed")
    assert feed.work().status == 0
    assert feed.state() == state


def test_03_what_was_done_or_had_failed_before_is_left_alone(feed: Feed) -> None:
    feed.stubs["failed"] = lambda _: error("no", no_retry=True)
    feed.add("done")
    feed.add("failed")
    feed.work()
    before = feed.item("failed")
    feed.stubs.clear()
    assert feed.work().status == 1
    assert (feed.item("failed"), len(feed.server.heard)) == (before, 2)


def test_04_and_05_a_complete_list_is_not_worked_until_it_is_reopened(feed: Feed) -> None:
    feed.add("a")
    feed.shell("complete", "feed")
    feed.work()
    assert (feed.server.heard, feed.keys()) == ([], ["a"])
    assert feed.shell("reopen", "feed").status == 0
    assert feed.work().status == 0
    assert (len(feed.server.heard), feed.keys()) == (1, [])


def test_06_one_that_always_fails_does_not_hold_up_its_sibling(feed: Feed) -> None:
    feed.stubs["bad"] = lambda _: error("no")
    feed.add("bad")
    feed.add("good", passes=3)
    assert feed.work().status == 1
    item = feed.item("bad")
    assert (feed.keys(), item["state"], item["attempts"]) == (["bad"], "failed", 4)


def test_07_errors_are_kept_one_by_one_until_the_last(feed: Feed) -> None:
    said_so = iter(["e1", "e1", "e2"])
    at_fourth, go_on = threading.Event(), threading.Event()

    def stub(_: Heard) -> bytes:
        message = next(said_so, None)
        if message is None:
            at_fourth.set()
            go_on.wait(WAIT_SECONDS)
        return error(message or "e3")

    feed.stubs["a"] = stub
    feed.add("a")
    with started(feed.outside, *feed.words()) as working:
        assert at_fourth.wait(WAIT_SECONDS)
        item = feed.item("a")
        messages = [each["message"].partition("message: ")[2] for each in reversed(item["failures"])]
        assert (item["attempts"], item["state"], "\n".join(dict.fromkeys(messages))) == (3, "claimed", "e1\ne2")
        go_on.set()
        assert working.wait(WAIT_SECONDS) == 1
    item = feed.item("a")
    assert (item["attempts"], item["state"]) == (4, "failed")


def test_08_what_is_not_to_be_retried_fails_at_once(feed: Feed) -> None:
    feed.stubs["a"] = lambda _: error("no", "200 OK", no_retry=True)
    feed.add("a")
    assert feed.work().status == 1
    item = feed.item("a")
    assert (item["attempts"], item["state"]) == (1, "failed")


def test_09_without_end_it_is_tried_without_end(feed: Feed) -> None:
    at_last, count = threading.Event(), Counter[str]()

    def stub(_: Heard) -> bytes:
        count["asked"] += 1
        if count["asked"] > 20:
            at_last.set()
            return said({"done": True})
        return error("no")

    feed.stubs["a"] = stub
    feed.add("a")
    assert feed.work("--attempts", "1000000").status == 0
    assert at_last.is_set()
    assert feed.asked("a")[-1].headers["rowlock-attempt"] == "21"


def test_10_a_gate_opens_when_all_have_left_the_one_before(feed: Feed) -> None:
    for key in ("a", "b", "c"):
        feed.add(key, passes=2, gate=0, gates={"1": 1})
    with started(feed.outside, *feed.words("-j", "1")) as other:
        assert feed.work("-j", "2").status == 0
        assert other.wait(WAIT_SECONDS) == 0
    gates = [heard.headers["rowlock-gate"] for heard in feed.server.heard]
    assert (gates, feed.keys()) == (["0", "0", "0", "1", "1", "1"], [])


def test_11_and_12_a_failed_item_keeps_the_gate_shut_until_it_is_healed(feed: Feed) -> None:
    feed.stubs["bad"] = lambda _: error("no")
    feed.add("bad", passes=2, gates={"1": 1})
    feed.add("good", passes=2, gates={"1": 1})
    feed.shell("seal", "feed")
    assert feed.work().status == 1
    item = feed.item("good")
    assert (item["state"], item["gate"], item["data"]["processed"]) == ("gated", 1, 1)
    feed.stubs.clear()
    feed.shell("retry", "feed", "bad")
    assert feed.work().status == 0
    assert (feed.keys(), feed.state()) == ([], "complete")


def test_13_a_manual_list_waits_for_a_hand(feed: Feed) -> None:
    feed.shell("settings", "feed", "manual=true")
    feed.add("a", gate=1)
    feed.add("b", gate=1)
    feed.work()
    assert (feed.server.heard, feed.keys()) == ([], ["a", "b"])
    assert feed.shell("gate", "feed", "1").status == 0
    assert feed.work().status == 0
    assert (len(feed.server.heard), feed.keys()) == (2, [])


def test_17_an_answer_without_data_or_gate_keeps_them(feed: Feed) -> None:
    asked = Counter[str]()

    def stub(_: Heard) -> bytes:
        asked["a"] += 1
        return said({"gate": 2}) if asked["a"] == 1 else said({"complete": True})

    feed.stubs["a"] = stub
    feed.shell("settings", "feed", "keep_results=true")
    feed.add("a", passes=9)
    assert feed.work().status == 0
    assert [heard.json for heard in feed.server.heard] == [{"processed": 0, "passes": 9}] * 2
    assert [heard.headers["rowlock-gate"] for heard in feed.server.heard] == ["0", "2"]
    assert result(feed, "a").result == {"processed": 0, "passes": 9}


def test_an_answer_that_sends_an_item_back_is_an_error_of_that_item(feed: Feed) -> None:
    feed.stubs["a"] = lambda heard: said({"gate": 1 - int(heard.headers["rowlock-gate"])})
    feed.add("a", gate=1)
    feed.add("b", gate=1)
    assert feed.work().status == 1
    item = feed.item("a")
    assert (feed.keys(), item["state"], item["failures"][0]["kind"]) == (["a"], "failed", "gate-passed")


@pytest.mark.parametrize(("done", "data"), [("done", "data"), ("complete", "response")])
def test_18_both_spellings_have_the_same_effect(feed: Feed, done: str, data: str) -> None:
    def stub(heard: Heard) -> bytes:
        again = heard.json["processed"] == 0
        return said({done: not again, data: {"processed": heard.json["processed"] + 1}})

    feed.stubs["a"] = stub
    feed.shell("settings", "feed", "keep_results=true")
    feed.add("a")
    assert feed.work().status == 0
    assert result(feed, "a").result == {"processed": 2}


@pytest.mark.parametrize(
    ("answer", "attempts", "text"),
    [
        (error("m"), 4, "Status 500 Internal Server Error; message: m"),
        (error("m", "200 OK", no_retry=True), 1, "Status 200 OK; message: m"),
        (said(b""), 4, "marshal error: the answer is empty, from request with HTTP Status: 200 OK"),
        (said({}, "300 Multiple Choices"), 4, "300 Multiple Choices"),
        (said({}, "400 Bad Request"), 4, "400 Bad Request"),
        (said({}, "500 Internal Server Error"), 4, "500 Internal Server Error"),
    ],
    ids=["error", "no_retry", "empty", "300", "400", "500"],
)
def test_19_the_text_of_an_error_has_its_form(feed: Feed, answer: bytes, attempts: int, text: str) -> None:
    feed.stubs["a"] = lambda _: answer
    feed.add("a")
    assert feed.work().status == 1
    item = feed.item("a")
    assert (item["state"], item["attempts"], item["failures"][0]["message"]) == ("failed", attempts, text)


def test_20_of_two_who_save_one_version_one_succeeds(feed: Feed) -> None:
    feed.add("a")
    version = str(feed.item("a")["version"])
    first = feed.shell("save", "feed", "a", "--data", "1", "--version", version)
    second = feed.shell("save", "feed", "a", "--data", "2", "--version", version)
    assert (first.status, second.status, feed.item("a")["data"]) == (0, 4, 1)


def test_21_an_item_that_is_gone_is_not_made_again(feed: Feed) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def stub(_: Heard) -> bytes:
        asked.set()
        go_on.wait(WAIT_SECONDS)
        return said({"data": {"processed": 1}})

    feed.stubs["a"] = stub
    feed.add("a")
    with started(feed.outside, *feed.words()) as working:
        assert asked.wait(WAIT_SECONDS)
        assert feed.shell("abandon", "feed", "a", "-y").status == 0
        go_on.set()
        assert working.wait(WAIT_SECONDS) == 0
    assert feed.keys() == []
    assert feed.shell("save", "feed", "a", "--data", "1").status == 3


def test_26_a_list_that_is_filled_late_is_not_closed_early(feed: Feed) -> None:
    feed.shell("settings", "feed", "keep_results=true")
    with started(feed.outside, *feed.words("--wait")) as working:
        feed.add("other", name="elsewhere")
        assert feed.state() == "open"
        feed.add("a", passes=2)
        until(lambda: feed.keys() == [])
        assert feed.state() == "open"
        feed.shell("seal", "feed")
        until(lambda: feed.state() == "complete")
        assert working.poll() is None


def test_27_health_names_whoever_is_ill(feed: Feed) -> None:
    feed.add("a")
    away = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    with receiver(said({})) as well, receiver(said({}, "503 Service Unavailable")) as ill:
        found = {
            (store, processor): told(feed, database, server.url)
            for store, database in (("up", feed.database), ("down", away))
            for processor, server in (("up", well), ("down", ill))
        }
    assert found == {
        ("up", "up"): set(),
        ("up", "down"): {"processor"},
        ("down", "up"): {"connection"},
        ("down", "down"): {"connection", "processor"},
    }


def told(feed: Feed, database: str, server: str) -> set[str]:
    ran = feed.shell("-d", database, "doctor", "--health", server, "--allow-host", "localhost")
    ill = {line.split()[0] for line in ran.lines if line.split("\t")[1] in ("risk", "unreachable")}
    assert ran.status == (5 if "connection" in ill else 1 if ill else 0)
    return ill & {"connection", "processor"}


@pytest.mark.parametrize(("keys", "ids", "attempt"), [("abc", 1, "1"), ("a", 2, "2")], ids=["many", "alone"])
def test_a_watcher_that_is_killed_leaves_its_turns_to_another(feed: Feed, keys: str, ids: int, attempt: str) -> None:
    # Who knows which of many did it? One that was in hand alone is charged: that is another attempt.
    go_on = threading.Event()

    def stub(heard: Heard) -> bytes:
        if len(feed.asked(heard.headers["rowlock-key"])) == 1:
            go_on.wait(WAIT_SECONDS)
        return passes(heard)

    for key in keys:
        feed.stubs[key] = stub
        feed.add(key)
    with started(feed.outside, *feed.words("-j", "3", "--expiry", "1s")) as working:
        until(lambda: len(feed.server.heard) == len(keys))
        working.kill()
        working.wait(WAIT_SECONDS)
    assert feed.work("--expiry", "1s").status == 0
    go_on.set()
    for key in keys:
        first, second = feed.asked(key)
        assert len({first.headers["webhook-id"], second.headers["webhook-id"]}) == ids
        assert (first.headers["rowlock-attempt"], second.headers["rowlock-attempt"]) == ("1", attempt)
    assert feed.keys() == []


def test_two_watchers_share_a_feed_of_all_kinds(feed: Feed) -> None:
    feed.stubs["bad"] = lambda _: error("no")
    for number in range(40):
        feed.add(f"item{number}", passes=number % 3 + 1)
    feed.add("bad")
    with started(feed.outside, *feed.words("-j", "4")) as other:
        assert feed.work("-j", "4").status == 1
        assert other.wait(WAIT_SECONDS) == 1
    assert feed.keys() == ["bad"]
    counts = Counter(heard.headers["rowlock-key"] for heard in feed.server.heard)
    assert counts == {**{f"item{number}": number % 3 + 1 for number in range(40)}, "bad": 4}
