"""A nightly pipeline: a schedule adds the night's extract, and its completion starts the report.

`nightly.py` runs until it is stopped. Any number of them may run; each tick happens once.
"""

import sys

from rowlock import Engine, Item, Worker

engine = Engine("nightly.db")
worker = Worker(engine)


@worker.on("extract")
def extract(item: Item) -> None:
    """Read yesterday's sales, then ask for their report; to add an item twice changes nothing."""
    engine["report"].add(item.key)


@worker.on("report", attempts=10, backoff="1m..1h")
def report(item: Item) -> None:
    """Write the report."""
    print("report of", item.key)  # noqa: T201


if __name__ == "__main__":
    engine.schedule("night").set("extract", cron="30 2 * * *", zone="Europe/Berlin")
    if "--now" in sys.argv:
        engine["extract"].add("by hand")
    worker.run(until="done" if "--now" in sys.argv else "stopped")
    engine.close()
