"""The pages of the shop."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

from shop.models import Order


def orders(_: HttpRequest) -> HttpResponse:
    """Return the number of orders."""
    return HttpResponse(f"{Order.objects.count()} orders")


urlpatterns = [path("orders", orders)]
