"""`{% load rowlock %}{% dashboard_link %}`: a link to the dashboard, for a template of the admin."""

from django import template
from django.utils.html import format_html

from rowlock.django import option

register = template.Library()


@register.simple_tag
def dashboard_link(text: str = "rowlock") -> str:
    """Return a link to `ROWLOCK['DASHBOARD_URL']`, or nothing if that is not set."""
    url = option("DASHBOARD_URL")
    return format_html('<a href="{}">{}</a>', url, text) if url else ""
