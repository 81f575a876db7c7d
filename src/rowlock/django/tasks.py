"""A backend for Django's tasks: each queue is a list, and a task is an item that commits with your transaction.

Django 6 has tasks of its own; for Django 5.2 the package django-tasks has the same interface.
"""

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.db import connections, transaction
from django.utils.crypto import get_random_string
from django.utils.module_loading import import_string

from rowlock.django import engine, option
from rowlock.engine import Transaction
from rowlock.errors import RowlockError
from rowlock.model import Failure, Item
from rowlock.outcomes import Done, Outcome, Verdict
from rowlock.settings import DEFAULT_PRIORITY, PRIORITIES
from rowlock.worker import Worker

try:
    from django.tasks import TaskContext, TaskResult, TaskResultStatus, task_backends
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import TaskError
    from django.tasks.exceptions import TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
except ImportError:
    from django_tasks import TaskContext, TaskResult, TaskResultStatus, task_backends
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import TaskError
    from django_tasks.exceptions import TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started

__all__ = ["RowlockBackend", "TaskResultDoesNotExist", "task_backends"]

PRIORITIES_PER_STEP = 20
"""Django has priorities from -100 to 100, the highest first; a list has 0 to 9, the lowest first."""
HANDLER_OPTIONS = ("ATTEMPTS", "BACKOFF", "TIMEOUT")
STATUSES = {"failed": TaskResultStatus.FAILED, "claimed": TaskResultStatus.RUNNING}


class RowlockBackend(BaseTaskBackend):
    """Tasks as items of lists: `tasks/default` has those of the queue `default`."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self._prefix = f"{self.options.get('PREFIX', 'tasks')}/"

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Add the task to its list, in the open transaction of Django if there is one."""
        self.validate_task(task)
        key = get_random_string(32)
        at = datetime.now(UTC).isoformat()
        stored = {"task": task.module_path, "args": args, "kwargs": kwargs, "enqueued_at": at}
        result = self._result(f"{task.queue_name}:{key}", stored, task=task)
        stored |= {"args": result.args, "kwargs": result.kwargs}  # as JSON has them
        priority = min(DEFAULT_PRIORITY - round(task.priority / PRIORITIES_PER_STEP), PRIORITIES[-1])
        with _transaction() as tx:
            rows = tx[self._prefix + task.queue_name]
            rows.add(key, data=stored, due=task.run_after, priority=priority)
            if not rows.info().settings.keep_results:
                rows.settings(keep_results=True)
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """Return what became of a task; a done one is known as long as its list keeps results."""
        queue, _, key = result_id.rpartition(":")
        rows = engine()[self._prefix + queue]
        try:
            if key in rows:
                return self._result_of(rows.show(key), rows.failures(key))
            [newest] = rows.results(key, limit=1)
        except (RowlockError, ValueError):
            raise TaskResultDoesNotExist(result_id) from None
        return self._success(result_id, newest.result, attempts=newest.attempts + 1, finished_at=newest.settled_at)

    def register(self, worker: Worker) -> None:
        """Let a worker run the tasks of all queues of this backend."""
        options = {name.lower(): self.options[name] for name in HANDLER_OPTIONS if name in self.options}
        for queue in sorted(self.queues) or ["*"]:
            worker.on(self._prefix + queue, self._run, **options)
        worker.after(self._send_finished)

    def _run(self, item: Item) -> Done:
        stored, at = item.data, datetime.now(UTC)
        times = {"started_at": at, "last_attempted_at": at}
        running = self._result(
            self._id(item), stored, status=TaskResultStatus.RUNNING, attempts=item.attempts + 1, **times
        )
        task_started.send_robust(type(self), task_result=running)
        context = [TaskContext(task_result=running)] if running.task.takes_context else []
        value = running.task.call(*context, *stored["args"], **stored["kwargs"])
        return Done({**stored, "started_at": at.isoformat(), "value": value})

    def _send_finished(self, item: Item, outcome: Outcome, verdict: Verdict) -> None:
        """Send Django's signal for a task that was settled; one that is tried again has not finished."""
        if not item.list.startswith(self._prefix):
            return
        if isinstance(outcome, Done) and verdict is Verdict.DONE:
            attempts, at = item.attempts + 1, datetime.now(UTC)
            result = self._success(self._id(item), outcome.result, attempts=attempts, finished_at=at)
            task_finished.send_robust(type(self), task_result=result)
        elif verdict is Verdict.FAILED:
            task_finished.send_robust(type(self), task_result=self.get_result(self._id(item)))

    def _id(self, item: Item) -> str:
        return f"{item.list.removeprefix(self._prefix)}:{item.key}"

    def _success(self, result_id: str, stored: dict[str, Any], **facts: Any) -> Any:
        began = stored.get("started_at")  # tasks of older releases have none
        at = datetime.fromisoformat(began) if began else None
        result = self._result(
            result_id, stored, status=TaskResultStatus.SUCCESSFUL, started_at=at, last_attempted_at=at, **facts
        )
        object.__setattr__(result, "_return_value", stored["value"])  # a frozen field that has no parameter
        return result

    def _result_of(self, item: Item, failures: list[Failure]) -> Any:
        """Return the result of a task that is on its list."""
        status = STATUSES.get(item.state, TaskResultStatus.READY)
        at = failures[0].at if failures else None
        errors = [_error(each) for each in failures]
        facts = {"status": status, "attempts": item.attempts, "finished_at": item.failed_at}
        return self._result(self._id(item), item.data, errors=errors, last_attempted_at=at, **facts)

    def _result(
        self, result_id: str, stored: dict[str, Any], *, attempts: int = 0, task: Any = None, **facts: Any
    ) -> Any:
        unknown = {"status": TaskResultStatus.READY, "started_at": None, "last_attempted_at": None, "finished_at": None}
        return TaskResult(
            task=task or import_string(stored["task"]),
            id=result_id,
            args=stored["args"],
            kwargs=stored["kwargs"],
            backend=self.alias,
            enqueued_at=datetime.fromisoformat(stored["enqueued_at"]),
            worker_ids=["rowlock"] * attempts,  # Django counts attempts by these
            **{**unknown, "errors": [], **facts},
        )


@contextmanager
def _transaction() -> Iterator[Transaction]:
    """Join the open transaction of Django, or begin one."""
    if option("URL"):
        with engine().transaction() as tx:
            yield tx
        return
    alias = option("DATABASE")
    with transaction.atomic(using=alias):
        yield engine().join(connections[alias])


def _error(failure: Failure) -> Any:
    return TaskError(exception_class_path=_path(failure), traceback=failure.traceback or failure.message)


def _path(failure: Failure) -> str:
    """Return the import path of the exception of a failure: the traceback's last line begins with it."""
    last = (failure.traceback or failure.kind).strip().rpartition("\n")[2]
    name = last.partition(":")[0]
    if "." in name:
        return name
    return f"builtins.{name}" if hasattr(builtins, name) else "builtins.Exception"
