"""Rowlock in a Django project, on SQLite and on PostgreSQL: the project in examples/django."""

import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.house.places import ROOT
from tests.http.serving import serving_app

django = pytest.importorskip("django", reason="Django is not installed")

PROJECT = ROOT / "examples" / "django"


@pytest.fixture(scope="module")
def project() -> Iterator[None]:
    """The example's settings and models, once for this process."""
    sys.path.insert(0, str(PROJECT))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_SETTINGS_MODULE", "shop.settings")
        django.setup()
        yield
    sys.path.remove(str(PROJECT))


@pytest.fixture(params=["sqlite", "unmigrated"])
def shop(request: pytest.FixtureRequest, project: None) -> Iterator[Any]:
    """The project on an empty SQLite file or PostgreSQL database, after `manage.py migrate`."""
    from django.core.management import call_command
    from django.db import connections

    from rowlock.django import engine

    databases = {"default": database(request.getfixturevalue(f"{request.param}_url"))}
    connections.settings = connections.configure_settings(databases)
    connections["default"].close()
    del connections["default"]
    call_command("migrate", verbosity=0)
    yield sys.modules["shop.models"]
    connections.close_all()
    engine().close()
    engine.cache_clear()


def database(url: str) -> dict[str, Any]:
    """What Django writes in its settings for an address."""
    if "://" not in url:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": url}
    parts = urlsplit(url)
    host = parse_qs(parts.query).get("host", [parts.hostname])[0]
    port = parse_qs(parts.query).get("port", [parts.port])[0]
    named = {"HOST": host or "", "PORT": port or "", "USER": parts.username or "", "PASSWORD": parts.password or ""}
    return {"ENGINE": "django.db.backends.postgresql", "NAME": parts.path[1:], **named}


def work() -> None:
    """What `manage.py rowlock_worker --until done` does, without its signal handlers."""
    from rowlock.django.management.commands.rowlock_worker import worker_of_project

    worker_of_project(4).run(until="done", signals=False)


def test_an_order_its_shipment_and_its_task_commit_together(shop: Any) -> None:
    from django.core.management import call_command

    from rowlock.django import engine

    call_command("order", "7", "A book")
    with pytest.raises(Exception, match=r"UNIQUE|duplicate key"):
        call_command("order", "7", "The book again")
    assert (engine()["shipments"].counts().total, engine()["tasks/default"].counts().total) == (1, 1)
    work()
    assert shop.Order.objects.get(pk=7).shipped


def test_a_transaction_that_is_rolled_back_leaves_no_task(shop: Any) -> None:
    from django.db import transaction

    with transaction.atomic():
        result = tasks().enqueue(1)
        transaction.set_rollback(True)
    with pytest.raises(not_there()):
        result.refresh()


def test_the_result_of_a_task_is_known(shop: Any) -> None:
    result = tasks().enqueue(order=7)
    assert result.status == "READY"
    work()
    result.refresh()
    assert (result.status, result.return_value, result.attempts) == ("SUCCESSFUL", "receipt for 7", 1)
    assert result.kwargs == {"order": 7}


def test_a_task_that_fails_says_why(shop: Any) -> None:
    result = tasks().enqueue(no_such_parameter=7)
    from rowlock.django import engine
    from rowlock.django.tasks import task_backends

    task_backends["default"].options["ATTEMPTS"] = 1
    work()
    result.refresh()
    assert (result.status, result.errors[0].exception_class) == ("FAILED", TypeError)
    assert "no_such_parameter" in result.errors[0].traceback
    assert engine()["tasks/default"].counts().failed == 1


def test_signals_tell_when_a_task_starts_and_finishes(shop: Any) -> None:
    from rowlock.django.tasks import task_backends, task_finished, task_started

    heard: list[tuple[str, str, int]] = []

    def hear(*, signal: Any, task_result: Any, **_: Any) -> None:
        name = "started" if signal is task_started else "finished"
        heard.append((name, task_result.status, task_result.attempts))

    task_backends["default"].options |= {"ATTEMPTS": 2, "BACKOFF": "1ms..1ms"}
    for signal in (task_started, task_finished):
        signal.connect(hear)
    good = tasks().enqueue(7)
    work()
    tasks().enqueue(no_such_parameter=7)
    work()
    for signal in (task_started, task_finished):
        signal.disconnect(hear)
    good.refresh()
    assert heard == [
        ("started", "RUNNING", 1),
        ("finished", "SUCCESSFUL", 1),
        ("started", "RUNNING", 1),
        ("started", "RUNNING", 2),
        ("finished", "FAILED", 2),
    ]
    assert good.enqueued_at <= good.started_at == good.last_attempted_at


def test_a_task_for_later_is_delayed_and_an_urgent_one_is_first(shop: Any) -> None:
    from django.utils.timezone import datetime, timedelta, timezone

    from rowlock.django import engine

    tasks().using(priority=100).enqueue(1)
    tasks().using(priority=-100, run_after=datetime.now(timezone.utc) + timedelta(days=1)).enqueue(2)
    stored = {item.data["args"][0]: (item.priority, item.state) for item in engine()["tasks/default"]}
    assert stored == {1: (0, "ready"), 2: (9, "delayed")}


def test_the_admin_can_link_to_the_dashboard(project: None) -> None:
    from django.template import Context, Engine

    template = Engine(libraries={"rowlock": "rowlock.django.templatetags.rowlock"}).from_string(
        "{% load rowlock %}{% dashboard_link 'Queues' %}"
    )
    assert template.render(Context()) == '<a href="http://127.0.0.1:8642/">Queues</a>'


@pytest.mark.parametrize("shop", ["sqlite"], indirect=True)  # the module makes its service once
def test_the_service_is_mounted_beside_django(shop: Any) -> None:
    from shop.asgi import application

    from rowlock.django import engine

    engine()["shipments"].add("7")
    with serving_app(application) as ask:
        assert ask("GET", "/rowlock/readyz").status == 200
        assert ask("GET", "/orders").text == "0 orders"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"DATABSE": "default"}, "ROWLOCK must have keys among DATABASE, URL, HANDLERS, DASHBOARD_URL, got 'DATABSE'"),
        ({"DATABASE": "other"}, "ROWLOCK['DATABASE'] must be one of default, got 'other'"),
    ],
)
def test_a_wrong_setting_is_found_by_the_check(project: None, setting: dict[str, str], said: str) -> None:
    from django.core.checks import run_checks
    from django.test import override_settings

    with override_settings(ROWLOCK=setting):
        assert [each.msg for each in run_checks() if each.id.startswith("rowlock.")] == [said]


def tasks() -> Any:
    from shop.tasks import send_receipt

    return send_receipt


def not_there() -> type[Exception]:
    from rowlock.django import tasks

    return tasks.TaskResultDoesNotExist  # type: ignore[no-any-return]
