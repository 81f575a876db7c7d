"""Applications on rowlock's public API, served beside the service: `rowlock serve --app NAME`.

Each is a package here, or registered by an entry point in the group `rowlock.apps`, with a function
`build(engine, **options)` that returns an `Application`. `rowlock.apps.tables` has migrations and statements for an
application's own tables, `rowlock.apps.web` routes, JSON, ETags and idempotency keys, and `rowlock.apps.pages`
pages in the look of the dashboard.
"""

from rowlock.http.applications import Application

__all__ = ["Application"]
