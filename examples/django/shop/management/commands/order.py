"""`manage.py order ID WHAT`: an order, its shipment and its receipt, or none of them."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand
from django.db import connection, transaction

from rowlock.django import engine
from shop.models import Order
from shop.tasks import send_receipt


class Command(BaseCommand):
    """The command `order`."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the arguments."""
        parser.add_argument("id", type=int)
        parser.add_argument("what")

    def handle(self, *_: object, **options: object) -> None:
        """Write all three in one transaction."""
        with transaction.atomic():
            Order.objects.create(pk=options["id"], what=options["what"])
            engine()["shipments"].add(str(options["id"]), using=connection)
            send_receipt.enqueue(options["id"])
