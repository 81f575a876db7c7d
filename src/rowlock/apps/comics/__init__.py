"""A comic shop on rowlock: whoever wants a comic says what it looks like, and is told once when it arrives.

Only rowlock's public API is used here: a topic for the wishes, a list whose items are the copies in stock, lists of
sales and refunds, counters for their numbers, and a worker that tells.
"""

import os
from typing import Any

from rowlock import Engine, Invalid, Worker
from rowlock.apps import Application
from rowlock.apps.comics.links import UnsubscribeLinks
from rowlock.apps.comics.notifier import ShopNotifier
from rowlock.apps.comics.routes import ComicRoutes
from rowlock.apps.comics.secrets import unsubscribe_secret
from rowlock.apps.comics.shop import Shop

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
    """The application. Who is to be told is told by POST to `notify`, or by `mail` from `sender`; else only noted.

    `secret_env` names the variable whose secret signs requests, `allow` a private host that they may go to, `public`
    the address of this service for links. Each is tried so many `attempts`, with `backoff` between them.
    """
    if not attempts.isascii() or not attempts.isdecimal() or int(attempts) < 1:
        raise Invalid(f"attempts={attempts} cannot be", "say how often each is tried: 8")
    if secret_env and not os.environ.get(secret_env, "").strip():
        raise Invalid(f"the variable {secret_env} is not set here", "it holds the secret that signs requests")
    shop = Shop(engine)
    links = UnsubscribeLinks(unsubscribe_secret(engine), public)
    secrets = os.environ[secret_env].split() if secret_env else []
    notifier = ShopNotifier(
        links, notify=notify, mail=mail, sender=sender, secrets=secrets, allow=allow.split() or None
    )

    def work(worker: Worker) -> None:
        shop.topic.deliver(worker, notifier.way, attempts=int(attempts), backoff=backoff)

    asgi: Any = ComicRoutes(shop, links).app()
    return Application(asgi, work, notifier.close, open_paths=("/shop", "/shop/*", "/unsubscribe/*"), pages=("/shop",))
