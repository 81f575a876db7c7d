"""Grouping: what many callers of one process ask at the same time is done in one transaction, and each is answered.

A verb says by `placed` where its calls belong in a group, and how several are done together. Calls that wait at the
same time have no order among each other, but those of one verb in one place are done as they came.
"""

from rowlock.grouping.calls import Call, Place, Together, placed, placed_as
from rowlock.grouping.writer import Grouping

__all__ = ["Call", "Grouping", "Place", "Together", "placed", "placed_as"]
