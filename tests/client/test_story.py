"""The same stories told to an engine and to a client: every value that they answer is the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rowlock import Client, Engine, Retry, RowlockError

Either = Engine | Client


def heard(verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What is answered, or said of what is wrong."""
    try:
        return verb(*args, **kwargs)
    except RowlockError as error:
        return type(error), error.code, error.what, error.hint


def worked(on: Either) -> list[Any]:
    """Somebody adds, claims and settles in every way."""
    work = on["work"]
    answers = [
        heard(work.settings, gates=("match", "notify"), attempts=2, keep_results=True),
        heard(work.add, [f"k{number}" for number in range(8)], data={"n": [1, None, "é"]}),
        heard(work.add, "later", gate="notify", priority=0),
        heard(work.add, "nowhere", gate="nothing"),
    ]
    with on.session(holder="me") as session:
        claim = session.take("work", limit=6)
        assert claim is not None
        done, again, failing, moving, spared, _ = claim
        claim.done(done, {"size": 3})
        claim.retry(again, "slow down", after="1h")
        claim.fail(failing, "no such file '7'")
        claim.move(moving, gate="notify")
        claim.say(spared, Retry("not yet", after="1h", counted=False))
        answers += [heard(claim.settle), heard(claim.settle)]
        answers += [(info.holder, info.claims, info.items) for info in on.sessions()]
    return answers


def looked_at(on: Either) -> list[Any]:
    """Somebody looks at what was left."""
    work = on["work"]
    return [
        [(item.key, item.state, item.attempts, item.gate, item.data) for item in work],
        work.counts(),
        [(failure.attempt, failure.kind, failure.message) for failure in work.failures("k1")],
        [(group.kind, group.shape, group.count, group.example) for group in work.failure_groups()],
        [(result.result, result.attempts) for result in work.results("k0")],
        [(gate.number, gate.name, gate.state, gate.counts) for gate in work.gates()],
        heard(on["nothing"].counts),
        heard(on["wrok"].show, "a"),
    ]


def ended(on: Either) -> list[Any]:
    """Somebody mends, seals, and is refused now and then."""
    work = on["work"]
    version = work.show("k7").version
    return [
        heard(lambda: work.save("k7", data="mended", version=version).data),
        heard(lambda: work.save("k7", data="too late", version=version).data),
        heard(work.open_gate, 1),
        heard(work.retry, ["k1", "k2"]),
        heard(work.abandon, ["k1", "k2", "k3"]),
        heard(work.seal),
        heard(work.add, "more"),
        heard(lambda: work.done([item.key for item in work])),
        (work.info().state, work.progress().done, work.progress().abandoned),
    ]


def test_a_client_hears_what_an_engine_hears(client: Client, tmp_path: Path) -> None:
    with Engine(str(tmp_path / "other.db")) as engine:
        for chapter in (worked, looked_at, ended):
            assert chapter(client) == chapter(engine)
