"""Tasks of the project, as Django has them."""

try:
    from django.tasks import task
except ImportError:  # Django 5
    from django_tasks import task


@task
def send_receipt(order: int) -> str:
    """Send the receipt of an order."""
    return f"receipt for {order}"
