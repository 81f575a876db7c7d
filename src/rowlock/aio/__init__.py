"""Async handles: the methods of the plain ones, awaited. `tools/async_handles.py` writes them from those."""

from rowlock.aio._generated import *  # noqa: F403
