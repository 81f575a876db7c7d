"""Items that are sent to a processor: what it is told, what becomes of them, whatever it is like."""

import gzip
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from tests.delivery.test_hostile import BAD
from tests.receivers import Answer, Heard, Receiver, free_port, receiver, said
from tests.waiting import WAIT_SECONDS
from tests.worker.running import eventually, running, sound, work_off

from rowlock import Counts, Engine, Invalid, Processor, Progress, Worker, verify
from rowlock.errors import HostNotAllowed
from rowlock.worker.http_processor import written

SECRET = "whsec_" + "A" * 43 + "="
DONE = said({"done": True})


@pytest.fixture
def worker(engine: Engine) -> Worker:
    """A worker without handlers yet."""
    return Worker(engine, concurrency=4, flush="5ms")


@pytest.fixture
def hear() -> Iterator[Callable[..., Receiver]]:
    """Makes processors that answer as they are told."""
    made: list[Receiver] = []

    def make(answer: Answer | bytes) -> Receiver:
        made.append(Receiver(answer))
        return made[-1]

    yield make
    for each in made:
        each.close()


def send(worker: Worker, server: Receiver, **options: Any) -> None:
    given = {"attempts": 1, "backoff": "1ms", "allow": ["localhost"], **options}
    worker.process("work", Processor(server.url, timeout=given.pop("timeout", "20s")), **given)


def test_an_item_is_told_who_it_is(engine: Engine, worker: Worker, hear: Callable[..., Receiver]) -> None:
    server = hear(DONE)
    engine["work"].add("größe 3%/x", data={"size": 3})
    send(worker, server, secrets=[SECRET])
    work_off(worker)
    [heard] = server.heard
    told = {name: value for name, value in heard.headers.items() if name.startswith("rowlock-")}
    token = told.pop("rowlock-token")
    assert unquote(told["rowlock-key"]) == "größe 3%/x"
    assert told | {"rowlock-key": ""} == {
        "rowlock-list": "work",
        "rowlock-key": "",
        "rowlock-gate": "0",
        "rowlock-attempt": "1",
    }
    assert (len(token), heard.json, heard.headers["content-type"]) == (32, {"size": 3}, "application/json")
    assert verify(heard.body, heard.headers, secrets=SECRET).startswith("item_")
    assert engine["work"].progress() == Progress(added=1, done=1)
    assert sound(engine)


def test_an_item_without_data_is_null(engine: Engine, worker: Worker, hear: Callable[..., Receiver]) -> None:
    server = hear(DONE)
    engine["work"].add("a")
    send(worker, server)
    work_off(worker)
    assert server.heard[0].body == b"null"
    assert "webhook-signature" not in server.heard[0].headers


@pytest.mark.parametrize("name", ["a", "a b", "ä", "%41", "\x1b[0m", "€/\U0001f600", "a:b,c;d=e\"f'", "x" * 500])
def test_a_name_comes_through_a_header(name: str) -> None:
    carried = written(name)
    assert (unquote(carried), carried.isascii(), carried.isprintable()) == (name, True, True)
    assert " " not in carried


def test_each_attempt_has_its_number_and_its_id(engine: Engine, worker: Worker, hear: Callable[..., Receiver]) -> None:
    def answer(heard: Heard, _: socket.socket) -> bytes:
        return DONE if heard.headers["rowlock-attempt"] == "3" else said({}, "500 No")

    server = hear(answer)
    engine["work"].add("a")
    send(worker, server, attempts=5)
    work_off(worker)
    assert [heard.headers["rowlock-attempt"] for heard in server.heard] == ["1", "2", "3"]
    assert len({heard.headers["webhook-id"] for heard in server.heard}) == 3


def test_a_turn_that_is_repeated_has_the_same_id(engine: Engine, hear: Callable[..., Receiver]) -> None:
    engine["work"].add("a")
    seen = threading.Semaphore(0)
    go_on = threading.Event()

    def answer(*_: Any) -> bytes:
        seen.release()
        go_on.wait(WAIT_SECONDS)
        return DONE

    server = hear(answer)
    first = Worker(engine, concurrency=1)
    send(first, server)
    with running(first):
        assert seen.acquire(timeout=WAIT_SECONDS)
        first.stop(now=True)
    go_on.set()
    second = Worker(engine, concurrency=1)
    send(second, server)
    work_off(second)
    ids = [heard.headers["webhook-id"] for heard in server.heard]
    tokens = [heard.headers["rowlock-token"] for heard in server.heard]
    assert (len(ids), len(set(ids)), len(set(tokens))) == (2, 1, 2)


def test_an_item_that_comes_again_has_another_id(engine: Engine, worker: Worker, hear: Callable[..., Receiver]) -> None:
    server = hear(DONE)
    send(worker, server)
    for _ in range(2):
        engine["work"].add("a")
        work_off(worker)
    first, second = (heard.headers["webhook-id"] for heard in server.heard)
    assert first != second


def test_headers_and_a_secret_of_the_lists_own(
    engine: Engine, worker: Worker, hear: Callable[..., Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWLOCK_SECRET_HOOK", f"{SECRET} whsec_{'B' * 43}=")
    monkeypatch.setenv("ROWLOCK_SECRET_API", "hunter2")
    monkeypatch.setenv("ROWLOCK_ALLOW_HOSTS", "elsewhere.example, localhost")
    server = hear(DONE)
    headers = {"Authorization": "Bearer ${ROWLOCK_SECRET_API}", "X-Team": "blue", "Content-Type": "application/x"}
    engine["work"].settings(processor={"url": server.url, "headers": headers, "secret_env": "ROWLOCK_SECRET_HOOK"})
    engine["work"].add("a")
    worker.process()
    work_off(worker)
    [heard] = server.heard
    assert heard.headers["authorization"] == "Bearer hunter2"
    assert (heard.headers["x-team"], heard.headers["content-type"]) == ("blue", "application/x")
    assert len(heard.headers["webhook-signature"].split()) == 2
    assert verify(heard.body, heard.headers, secrets=SECRET)
    assert "hunter2" not in repr(engine["work"].info())


def test_only_lists_with_a_processor_are_worked(engine: Engine, worker: Worker, hear: Callable[..., Receiver]) -> None:
    one, other = hear(DONE), hear(DONE)
    engine["one"].settings(processor=Processor(one.url))
    engine["other"].settings(processor={"url": other.url})
    for name in ("one", "other", "mine", "nobody"):
        engine[name].add(["a", "b"])
    mine: list[str] = []
    worker.on("mine", lambda item: mine.append(item.key))
    worker.process("*", allow=["localhost"])
    work_off(worker)
    assert (len(one.heard), len(other.heard), len(mine)) == (2, 2, 2)
    assert engine["nobody"].counts() == Counts(ready=2)


def test_a_processor_that_is_set_later_is_found(engine: Engine, worker: Worker, hear: Callable[..., Receiver]) -> None:
    server = hear(DONE)
    engine["work"].add("a")
    worker.process(allow=["localhost"])
    with running(worker):
        engine["work"].settings(processor={"url": server.url})
        engine["work"].add("b")
        assert eventually(lambda: engine["work"].counts().total == 0)


def test_three_passes_are_three_requests_and_no_failed_attempt(
    engine: Engine, worker: Worker, hear: Callable[..., Receiver]
) -> None:
    def answer(heard: Heard, _: socket.socket) -> bytes:
        passes = heard.json["passes"] + 1
        return said({"done": passes == 3, "data": {"passes": passes}})

    server = hear(answer)
    engine["work"].settings(keep_results=True)
    engine["work"].add("a", data={"passes": 0})
    send(worker, server)
    work_off(worker)
    [result] = engine["work"].results("a")
    assert (result.result, result.attempts, len(server.heard)) == ({"passes": 3}, 0, 3)
    assert engine["work"].progress() == Progress(added=1, moved=2, done=1)


def test_the_items_of_an_exclusive_list_are_sent_in_order(
    engine: Engine, worker: Worker, hear: Callable[..., Receiver]
) -> None:
    server = hear(DONE)
    engine["work"].settings(exclusive=True, processor={"url": server.url})
    engine["work"].add(f"{number:02}" for number in range(30))
    worker.process(allow=["localhost"])
    work_off(worker)
    assert [heard.headers["rowlock-key"] for heard in server.heard] == [f"{number:02}" for number in range(30)]


# What a processor says is read alike whatever the database is: one of them is enough for all but one.
WORST = [("sqlite", name) for name, (_, reason) in BAD.items() if reason != "ok"]


@pytest.mark.parametrize(("dialect", "name"), [*WORST, ("postgres", "closes within the body")])
def test_a_bad_processor_costs_its_item_an_attempt_and_others_nothing(
    engine: Engine, worker: Worker, hear: Callable[..., Receiver], name: str
) -> None:
    bad, good = hear(BAD[name][0]), hear(DONE)
    engine["work"].add("a")
    engine["good"].add(str(number) for number in range(20))
    send(worker, bad, timeout="300ms" if BAD[name][1] == "timeout" else "20s")
    worker.process("good", Processor(good.url), allow=["localhost"])
    work_off(worker)
    [failure] = engine["work"].failures("a")
    assert failure.kind in BAD[name][1].split(" or ")
    assert failure.message.startswith(f"http://localhost:{bad.port}/work gave no answer: ")
    assert len(failure.message) < 200
    assert (engine["work"].counts(), engine["good"].progress().done) == (Counts(failed=1), 20)
    assert sound(engine)


def test_a_processor_that_is_down_is_tried_until_the_attempts_are_used_up(engine: Engine, worker: Worker) -> None:
    engine["work"].add("a")
    processor = Processor(f"http://localhost:{free_port()}/")
    worker.process("work", processor, attempts=3, backoff="1ms", allow=["localhost"])
    work_off(worker)
    assert [failure.kind for failure in engine["work"].failures("a")] == ["connection"] * 3
    assert engine["work"].counts() == Counts(failed=1)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (said({}, "302 Found", location="http://127.0.0.1:1/"), "status 302"),
        (said(b""), "marshal error"),
        (said(b"\xff\xfe"), "marshal error"),
        (said(gzip.compress(b"{}")), "marshal error"),
        (said({"gate": 2**31}), "InvalidOutcome"),
        (said({"gate": -1}), "gate-passed"),
        (said({"gate": "nowhere"}), "invalid"),
        (said({"data": "x" * 300_000}), "invalid-data"),
    ],
    ids=[
        "redirect",
        "empty",
        "not UTF-8",
        "secretly compressed",
        "no such gate",
        "gate below",
        "no gate of that name",
        "too much data",
    ],
)
def test_an_answer_that_cannot_be_an_outcome_fails_with_its_reason(
    engine: Engine, worker: Worker, hear: Callable[..., Receiver], answer: bytes, kind: str
) -> None:
    engine["work"].add("a")
    send(worker, hear(answer))
    work_off(worker)
    assert (engine["work"].failures("a")[0].kind, engine["work"].counts()) == (kind, Counts(failed=1))
    assert sound(engine)


def test_an_item_that_must_not_be_sent_is_not_charged(engine: Engine, worker: Worker, caplog: Any) -> None:
    with receiver(DONE) as server:
        engine["work"].settings(processor={"url": server.url}, attempts=1)
        engine["work"].add("a")
        worker.process(allow=[])
        with caplog.at_level(logging.WARNING, "rowlock.worker"):
            worker.run(until="idle", signals=False)
    item = engine["work"].show("a")
    assert (item.attempts, item.state, server.connections) == (0, "delayed", 0)
    assert engine["work"].failures("a")[0].kind == "host-not-allowed"
    assert "resolves to a private address" in caplog.text


def test_a_secret_that_is_missing_is_no_reason_to_send_without(
    engine: Engine, worker: Worker, hear: Callable[..., Receiver]
) -> None:
    server = hear(DONE)
    engine["work"].settings(processor={"url": server.url, "secret_env": "ROWLOCK_SECRET_MISSING"}, attempts=1)
    engine["work"].add("a")
    worker.process(allow=["localhost"])
    worker.run(until="idle", signals=False)
    assert (engine["work"].show("a").attempts, server.heard) == (0, [])
    assert "ROWLOCK_SECRET_MISSING is not set" in engine["work"].failures("a")[0].message


def test_who_asks_to_wait_is_not_asked_before(engine: Engine, worker: Worker, hear: Callable[..., Receiver]) -> None:
    engine["work"].add("a")
    send(worker, hear(said({}, "429 Too Many Requests", retry_after="600")))
    worker.run(until="idle", signals=False)
    item = engine["work"].show("a")
    assert (item.attempts, item.state) == (0, "delayed")


def test_what_cannot_work_is_refused_before_anything_is_claimed(worker: Worker) -> None:
    with pytest.raises(HostNotAllowed):
        worker.process("work", Processor("http://127.0.0.1:9/"), allow=["localhost"])
    with pytest.raises(Invalid, match="ROWLOCK_SECRET_MISSING is not set"):
        worker.process("work", Processor("http://x.invalid/", secret_env="ROWLOCK_SECRET_MISSING"))
    with pytest.raises(Invalid, match="secret"):
        worker.process("work", Processor("http://x.invalid/"), secrets=["hunter2"])


@pytest.mark.parametrize(
    "processor",
    [
        {"url": "ftp://x"},
        {"url": "https://user:hunter2@x/"},
        {"url": 3},
        {},
        "https://x/",
        {"url": "https://x/", "timeout": "0s"},
        {"url": "https://x/", "timeout": "2h"},
        {"url": "https://x/", "timeout": "soon"},
        {"url": "https://x/", "tiemout": "1s"},
        {"url": "https://x/", "health": "ftp://x"},
        {"url": "https://x/", "headers": {"host": "y"}},
        {"url": "https://x/", "headers": {"Content-Length": "3"}},
        {"url": "https://x/", "headers": {"rowlock-key": "y"}},
        {"url": "https://x/", "headers": {"Webhook-Id": "y"}},
        {"url": "https://x/", "headers": {"a": "b\r\nc: d"}},
        {"url": "https://x/", "headers": {"authorization": "Bearer hunter2"}},
        {"url": "https://x/", "headers": {"x-api-key": "hunter2"}},
        {"url": "https://x/", "headers": {"x-auth-token": "hunter2 ${PATH}"}},
        {"url": "https://x/", "headers": {str(number): "x" for number in range(40)}},
        {"url": "https://x/", "secret_env": "PATH"},
    ],
    ids=repr,
)
def test_a_processor_that_cannot_be_is_refused_and_no_secret_repeated(engine: Engine, processor: Any) -> None:
    with pytest.raises(Invalid) as refused:
        engine["work"].settings(processor=processor)
    assert "hunter2" not in str(refused.value)
    assert engine.lists() == []


def test_a_processor_is_kept_with_the_list(engine: Engine) -> None:
    processor = Processor("https://x.example/?token=hunter2", timeout=5, health="/health")
    engine["work"].settings(processor=processor)
    assert engine["work"].settings().processor == processor
    assert repr(processor) == "Processor('https://x.example/?…')"
    engine["work"].settings(attempts=3)
    assert engine["work"].settings(processor=None).processor is None
