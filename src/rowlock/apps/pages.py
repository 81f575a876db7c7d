"""Pages of an application in the look of the dashboard: with its sign-in, roles, forms, live updates and twins.

A page is a function of a `PageRequest` that returns a `View` or, after a form, `page.redirect(…)`; an
`Application(page_entries=…)` gives it a path and a role. Its template lies in `View.folder`, extends `base.html` and
may use the macros of `parts.html`, as the templates in `rowlock/dashboard/templates` do. A form with `shown_on` is
shown again with what was typed if its function raises an error.
"""

from starlette.requests import Request
from starlette.responses import Response

from rowlock.dashboard import rendering
from rowlock.dashboard.frame import PageEntry, PageRequest, Redirect, View, url_path
from rowlock.roles import Role

__all__ = ["PageEntry", "PageRequest", "Redirect", "Role", "View", "once_key", "open_page", "url_path"]

HEADERS = {"content-security-policy": rendering.POLICY, "referrer-policy": "no-referrer"}


def open_page(request: Request, view: View) -> Response:
    """Return a page for people without a token: it has no navigation."""
    page = PageRequest(path=request.url.path, root=request.scope.get("root_path", ""))
    content = rendering.html(page, view, navigation=())
    return Response(content, view.status, HEADERS, "text/html; charset=utf-8")


def once_key(page: PageRequest) -> str:
    """Return the idempotency key of a form with a hidden field `key`, so that a double click writes once."""
    key = page.field("key")[:100]
    return f"page {page.path} {page.caller} {key}" if key else ""
