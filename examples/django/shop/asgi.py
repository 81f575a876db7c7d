"""Django, and the service of rowlock with its dashboard under /rowlock: `uvicorn shop.asgi:application`."""

import os

from django.core.asgi import get_asgi_application
from starlette.applications import Starlette
from starlette.routing import Mount

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
django_application = get_asgi_application()

from rowlock.django import engine  # noqa: E402  (settings are read first)
from rowlock.http import Service  # noqa: E402

service = Service(engine(), loopback=True)  # without loopback=True others may reach it, and it needs a token
application = Starlette(routes=[Mount("/rowlock", service), Mount("/", django_application)], lifespan=service.lifespan)
