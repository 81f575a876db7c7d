"""Settings: rowlock uses the database of the project."""

import importlib.util
import os

DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("SHOP_DATABASE", "shop.db")}}
SECRET_KEY = os.environ.get("SHOP_SECRET_KEY", "only-for-this-example")
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = ["rowlock.django", "shop"]
if importlib.util.find_spec("django.tasks") is None:  # Django 5
    INSTALLED_APPS.append("django_tasks")

ROWLOCK = {"HANDLERS": ["shop.handlers.register"], "DASHBOARD_URL": "http://127.0.0.1:8642/"}
TASKS = {"default": {"BACKEND": "rowlock.django.tasks.RowlockBackend", "OPTIONS": {"ATTEMPTS": 3}}}
ROOT_URLCONF = "shop.urls"
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
