"""The client: lists on another machine, with nothing but HTTP; the same handles as an engine's."""

from rowlock.client.client import Client

__all__ = ["Client"]
