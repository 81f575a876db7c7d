"""Subscribers get a signed request for each record that they asked for: `webhooks.py URL`."""

import sys

from rowlock import Engine, Webhook, Worker

SECRET = "whsec_c2VjcmV0LW9mLXRoZS1zaG9wLWFuZC1vdXJz"  # noqa: S105  (an example; read yours from the environment)


def main(url: str) -> None:
    """Subscribe an address to cheap books, publish two, and deliver what matches."""
    with Engine("books.db") as engine:
        books = engine.topic("books")
        books.define(title="text", price="number")
        books.subscribe(url, price={"to": 10})
        books.publish({"title": "Saga", "price": 9.5}, key="saga")
        books.publish({"title": "Atlas", "price": 60}, key="atlas")
        worker = Worker(engine)
        books.deliver(worker, Webhook(secrets=[SECRET], allow=["localhost"]), attempts=3)
        worker.run(until="done")


if __name__ == "__main__":
    main(sys.argv[1])
