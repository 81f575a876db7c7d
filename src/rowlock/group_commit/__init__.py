"""GroupCommit: what many callers of one process ask at the same time is done in one transaction, and each is answered.

A verb says by `groupable` where its calls belong in a group, and how several are done together. Calls that wait at the
same time have no order among each other, but those of one verb in one place are done as they came.
"""

from rowlock.group_commit.calls import GroupedCall, GroupKey, Merge, groupable, groupable_like
from rowlock.group_commit.writer import GroupCommit

__all__ = ["GroupCommit", "GroupKey", "GroupedCall", "Merge", "groupable", "groupable_like"]
