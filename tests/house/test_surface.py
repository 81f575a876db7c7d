"""The public names are a promise: this test is changed on purpose or not at all."""

import subprocess
import sys

import rowlock

PUBLIC = [
    "Added",
    "AsyncEngine",
    "BatchedFunction",
    "Claim",
    "Client",
    "Counter",
    "CounterInfo",
    "Counts",
    "Done",
    "Engine",
    "Fail",
    "Failure",
    "GateInfo",
    "Grouped",
    "Invalid",
    "Item",
    "ItemsGone",
    "List",
    "ListInfo",
    "Mail",
    "Move",
    "NewItem",
    "NotFound",
    "Notification",
    "OutcomeUnknown",
    "Processor",
    "Progress",
    "Published",
    "RecordInfo",
    "RedisCounters",
    "Refused",
    "Retry",
    "RowlockError",
    "Schedule",
    "ScheduleInfo",
    "Session",
    "Settings",
    "Stale",
    "StaleClaim",
    "StaleSession",
    "State",
    "Subscription",
    "Then",
    "Topic",
    "TopicInfo",
    "Transaction",
    "Turn",
    "TypedItem",
    "Unavailable",
    "Verdict",
    "Webhook",
    "Worker",
    "verify",
]

# Drivers, faces and anything slow to import: needed by some calls, never by `import rowlock`.
HEAVY = {
    "asyncio",
    "click",
    "cronsim",
    "email",
    "http",
    "jinja2",
    "logging",
    "prometheus_client",
    "psycopg",
    "redis",
    "rich",
    "socket",
    "sqlalchemy",
    "sqlite3",
    "ssl",
    "starlette",
    "subprocess",
    "tempfile",
    "uvicorn",
    "zoneinfo",
}


def test_the_public_names_are_these() -> None:
    assert rowlock.__all__ == PUBLIC


def test_the_public_names_are_sorted() -> None:
    assert sorted(rowlock.__all__) == rowlock.__all__


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    assert [name for name in rowlock.__all__ if not getattr(rowlock, name).__doc__] == []


def test_importing_rowlock_imports_nothing_heavy() -> None:
    assert loaded_by("import rowlock") & HEAVY == set()


def test_a_sqlite_engine_imports_only_its_own_driver() -> None:
    assert loaded_by("import rowlock; rowlock.Engine('work.db')") & HEAVY == {"sqlite3"}


def loaded_by(program: str) -> set[str]:
    look = f"{program}; import sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in ran.stdout.split()}
