"""The handlers of lists; the setting ROWLOCK names `register`."""

from rowlock import Item, Worker
from shop.models import Order


def register(worker: Worker) -> None:
    """Register the handlers of this project with the worker."""
    worker.on("shipments", ship, attempts=5)


def ship(item: Item) -> None:
    """Mark an order as shipped; to do so twice changes nothing."""
    Order.objects.filter(pk=int(item.key)).update(shipped=True)
