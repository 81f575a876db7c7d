"""A comic shop on rowlock: customers describe the comics they want, and are notified once when one arrives.

It uses rowlock's public API only: a topic for subscriptions, a list whose items are the copies in stock, lists of sales
and refunds, counters for their numbers, and a worker that notifies.
"""

import os
from typing import Any

from rowlock import Engine, Invalid, Worker
from rowlock.apps import Application
from rowlock.apps.comics.notifier import ShopNotifier
from rowlock.apps.comics.pages import ShopPages
from rowlock.apps.comics.routes import ComicRoutes
from rowlock.apps.comics.shop import Shop
from rowlock.apps.comics.unsubscribe_links import UnsubscribeLinks, unsubscribe_secret

__all__ = ["build"]


def build(
    engine: Engine,
    *,
    notify: str = "",
    mail: str = "",
    sender: str = "",
    secret_env: str = "",
    allow: str = "",
    attempts: str = "8",
    backoff: str = "1s..1h",
    public: str = "",
) -> Application:
    """Return the application. It notifies by POST to `notify`, by `mail` from `sender`, or only in its history.

    `secret_env` names the variable with the secret that signs requests, `allow` a private host that they may go to,
    `public` the URL of this service for links. Notifications are tried `attempts` times, with `backoff` in between.
    """
    if not attempts.isascii() or not attempts.isdecimal() or int(attempts) < 1:
        raise Invalid(f"attempts must be a number from 1, got {attempts!r}")
    if secret_env and not os.environ.get(secret_env, "").strip():
        raise Invalid(f"the environment variable {secret_env} is not set", "it holds the secret that signs requests")
    shop = Shop(engine)
    links = UnsubscribeLinks(unsubscribe_secret(engine), public)
    secrets = os.environ[secret_env].split() if secret_env else []
    notifier = ShopNotifier(
        links, notify=notify, mail=mail, sender=sender, secrets=secrets, allow=allow.split() or None
    )

    def work(worker: Worker) -> None:
        shop.topic.deliver(worker, notifier.deliver, attempts=int(attempts), backoff=backoff)

    asgi: Any = ComicRoutes(shop, links).app()
    return Application(
        asgi,
        work,
        notifier.close,
        open_paths=("/unsubscribe/*",),
        pages=("/shop",),
        page_entries=ShopPages(shop).entries(),
    )
