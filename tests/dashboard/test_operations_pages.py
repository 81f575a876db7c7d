"""Pages of sessions, schedules, topics, counters and the system: what they show, and what their forms do."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.http.serving import Reply, Serving, serving

from rowlock import Engine, Invalid, config
from rowlock.dashboard.rendering import code_spans
from rowlock.dashboard.system import _bar
from rowlock.http import Service
from rowlock.model import to_datetime
from rowlock.sessions import ClaimInfo

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Serving]:
    """A server without tokens, where everybody may do everything."""
    with Engine(tmp_path / "work.db") as engine, serving(engine) as found:
        yield found


def post(served: Serving, path: str, **fields: str) -> Reply:
    return served.client("POST", path, urlencode(fields), content_type=FORM)


def page(served: Serving, path: str) -> str:
    return served.client("GET", path, accept="text/html").text


def test_a_session_is_ended_from_its_page_and_its_items_are_free(served: Serving) -> None:
    engine = served.service.engine
    engine["work"].add(["a", "b"])
    session = engine.session(holder="<ann>", beats=False).open()
    session.take("work", limit=1)
    shown = page(served, "/sessions")
    wanted = ("&lt;ann&gt;", "free 1 item<", 'aria-label="Positions 1 to 1"')
    assert [text in shown for text in wanted] == [True, True, True]
    assert post(served, "/sessions", session=session.id).status == 303
    assert (engine.sessions(), engine["work"].counts().ready) == ([], 2)


def test_a_schedule_is_paused_and_triggered_from_its_page(served: Serving) -> None:
    engine = served.service.engine
    engine.schedule("nightly").set("work", cron="0 3 * * *")
    assert post(served, "/schedules/nightly", action="pause").status == 303
    assert post(served, "/schedules/nightly", action="trigger").status == 303
    assert (engine.schedule("nightly").info().paused, engine["work"].counts().ready) == (True, 1)
    assert "triggered" in page(served, "/schedules/nightly")
    assert post(served, "/schedules/nightly", action="explode").status == 400


def test_a_topic_shows_why_a_subscriber_is_notified(served: Serving) -> None:
    topic = served.service.engine.topic("comics")
    topic.define(series="text")
    topic.subscribe("fan", series="Tintin")
    shown = page(served, "/topics/comics")
    assert ("fan" in shown, "Tintin" in shown, 'href="/topics/comics"' in page(served, "/topics")) == (True, True, True)


def test_the_system_page_shows_checks_sizes_and_the_audit(served: Serving) -> None:
    served.client("POST", "/v1/lists/work/items", b"a\n")
    served.client("POST", "/v1/lists/work/pause")
    shown = page(served, "/system")
    assert [text in shown for text in ("synchronous", "Sizes", "lists.pause")] == [True, True, True]


def test_the_system_page_shows_the_configuration_with_its_origins_and_no_secret(tmp_path: Path) -> None:
    given = {"ROWLOCK_DATABASE_URL": "postgresql://ann:canary@db/work", "ROWLOCK_TOKEN": "canary"}
    values = tuple(config.load({"trace_url": "https://t.example/{trace_id}"}, environment=given).values())
    with Engine(tmp_path / "work.db") as engine, serving(engine, configuration=values) as served:
        shown = page(served, "/system")
    assert "canary" not in shown
    wanted = ("environment ROWLOCK_DATABASE_URL", "flag --trace-url", "audit_keep", "postgresql://ann:***@db/work")
    assert [text in shown for text in wanted] == [True] * len(wanted)


def test_the_reference_marks_code_and_escapes_the_rest() -> None:
    assert code_spans("with `a<b`, at <once>") == "with <code>a&lt;b</code>, at &lt;once&gt;"


def test_a_claim_is_drawn_where_its_items_stand() -> None:
    claim = ClaimInfo("work", "s", "ann", 0, 5, 149, 199, 50, 50, to_datetime(0), 100, 299)
    assert _bar(claim) == {"x": 250.0, "width": 250.0}


def test_a_group_of_failures_is_retried_alone(served: Serving) -> None:
    work = served.service.engine["work"]
    work.add(["a", "b", "c", "d"])
    with served.service.engine.session() as session:
        claim = session.take("work", limit=4)
        assert claim is not None
        for item, error in zip(claim.items, ("boom", "boom 'x'", "boom", ""), strict=True):
            claim.fail(item, error)
        claim.settle()
    shown = page(served, "/lists/work/failures")
    filters = re.findall(r'name="q" value="([^"]+)"', shown)
    asked = {"change": "retry", "scope": "matching", "q": html.unescape(filters[0])}
    assert "Retry: 2 items" in post(served, "/lists/work/items", **asked).text
    post(served, "/lists/work/items", **asked, confirmed="yes")
    assert {key: work.show(key).state for key in "abcd"} == {"a": "ready", "b": "failed", "c": "ready", "d": "failed"}


def test_a_gate_of_thousands_of_digits_is_refused(served: Serving) -> None:
    served.service.engine["work"].add("a")
    assert post(served, "/lists/work/gate", gate="9" * 5_000).status // 100 == 4
    assert served.service.engine["work"].info().gate == 0


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_the_page_of_an_item_links_its_trace_and_tells_who_holds_it(tmp_path: Path) -> None:
    with Engine(tmp_path / "work.db") as engine:
        engine["work"].add("a", trace=TRACE)
        with serving(engine, trace_url="https://traces.example/t/{trace_id}?x=<") as linked:
            engine.session(holder="<ann>").open().take("work", limit=1)
            shown = page(linked, "/lists/work/items/a")
    link = 'href="https://traces.example/t/0af7651916cd43dd8448eb211c80319c?x=&lt;"'
    wanted = (link, "<dt>Running</dt>", "<dt>Waited</dt>", "&lt;ann&gt;")
    assert [text for text in wanted if text not in shown] == []


def test_without_a_viewer_of_traces_the_id_is_shown(served: Serving) -> None:
    served.service.engine["work"].add("a", trace=TRACE)
    assert "<code>0af7651916cd43dd8448eb211c80319c</code>" in page(served, "/lists/work/items/a")


@pytest.mark.parametrize("url", ["https://traces.example/", "javascript:alert({trace_id})"])
def test_an_address_of_traces_that_cannot_be_one_is_refused(served: Serving, url: str) -> None:
    with pytest.raises(Invalid, match="trace_url must be an http URL"):
        Service(served.service.engine, trace_url=url)
