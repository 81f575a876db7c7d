"""The HTTP service: the engine's verbs as routes, in text, JSON and NDJSON. It adds no behaviour of its own."""

from rowlock.http.service import Service

__all__ = ["Service"]
