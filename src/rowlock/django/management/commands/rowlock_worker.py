"""`manage.py rowlock_worker`: works the lists of the project, and the queues of its tasks."""

from argparse import ArgumentParser
from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections
from django.utils.module_loading import import_string

from rowlock.django import engine, option
from rowlock.errors import RowlockError
from rowlock.worker import Worker


class RowlockWorkerCommand(BaseCommand):
    """The command `rowlock_worker`."""

    help = "Work the lists that ROWLOCK['HANDLERS'] handle, and the queues of tasks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the options."""
        parser.add_argument("-j", "--concurrency", type=int, default=16, help="how many items at once (16)")
        choices = ["stopped", "idle", "done"]
        parser.add_argument("--until", choices=choices, default="stopped", help="when to end (stopped)")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run the worker."""
        try:
            worker_of_project(options["concurrency"]).run(until=options["until"])
        except RowlockError as error:
            raise CommandError(f"{error.what}; {error.hint}") from None


Command = RowlockWorkerCommand  # the name that Django looks for


class ProjectWorker(Worker):
    """A worker whose handlers treat connections of Django as requests do: too old or broken ones are closed."""

    def on(self, pattern: str, function: Any = None, **options: Any) -> Any:
        """Handle the items of lists whose names fit the pattern, as `Worker.on` does."""
        if function is None:
            return lambda chosen: self.on(pattern, chosen, **options)
        is_in_thread = not (iscoroutinefunction(function) or options.get("processes"))
        super().on(pattern, _closing_old_connections(function) if is_in_thread else function, **options)
        return function


def _closing_old_connections(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def handle(*arguments: Any) -> Any:
        close_old_connections()
        try:
            return function(*arguments)
        finally:
            close_old_connections()

    return handle


def worker_of_project(concurrency: int) -> Worker:
    """Return a worker with the handlers of the project and those of its task queues."""
    worker = ProjectWorker(engine(), concurrency=concurrency)
    for path in option("HANDLERS"):
        import_string(path)(worker)
    for backend in _task_backends():
        backend.register(worker)
    return worker


def _task_backends() -> list[Any]:
    try:
        from rowlock.django import tasks  # Django 5 without the package django-tasks has no tasks
    except ImportError:
        return []
    return [each for each in tasks.task_backends.all() if isinstance(each, tasks.RowlockBackend)]
