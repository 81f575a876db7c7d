"""What the shop stores."""

from django.db import models


class Order(models.Model):
    """One order of a customer."""

    what = models.TextField()
    shipped = models.BooleanField(default=False)
