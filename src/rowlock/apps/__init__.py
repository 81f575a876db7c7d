"""Applications on rowlock's public API, served beside the service: `rowlock serve --app NAME`.

Each is a package here, or of somebody else by an entry point in the group `rowlock.apps`, with a function
`build(engine, **options)` that gives an `Application`.
"""

from rowlock.http.applications import Application

__all__ = ["Application"]
