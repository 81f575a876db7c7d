"""The table of orders."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Create the table."""

    initial = True
    operations = [  # noqa: RUF012
        migrations.CreateModel(
            "Order",
            [
                ("id", models.BigAutoField(primary_key=True)),
                ("what", models.TextField()),
                ("shipped", models.BooleanField(default=False)),
            ],
        )
    ]
