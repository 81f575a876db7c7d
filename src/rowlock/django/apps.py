"""The Django application: `manage.py migrate` makes rowlock's tables too, and `manage.py check` reads the setting."""

from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate

from rowlock import django as rowlock_django
from rowlock.errors import RowlockError


class RowlockConfig(AppConfig):
    """The application `rowlock.django` of a project."""

    name = "rowlock.django"
    label = "rowlock"
    verbose_name = "rowlock"

    def ready(self) -> None:
        """Register the check of the setting, and the migration."""
        checks.register(check_setting)
        post_migrate.connect(migrate, sender=self)


def check_setting(**_: object) -> list[checks.CheckMessage]:
    """Return what is wrong with the setting `ROWLOCK`."""
    try:
        rowlock_django.option("URL") or rowlock_django.database_url(rowlock_django.option("DATABASE"))
    except RowlockError as error:
        return [checks.Error(error.what, hint=error.hint, id=f"rowlock.{error.code}")]
    return []


def migrate(*, using: str, **_: Any) -> None:
    """Make or change rowlock's tables when the project's own database is migrated."""
    if using == rowlock_django.option("DATABASE"):
        rowlock_django.engine().migrate()
