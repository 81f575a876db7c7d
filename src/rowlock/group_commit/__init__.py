"""Group commit: calls that many threads of one process make at the same time run in one transaction.

A verb says by `groupable` what its calls touch and how several are merged. Calls that wait at the same time have no
order among each other, but those of one verb and one key run as they came.
"""

from rowlock.group_commit.calls import GroupedCall, GroupKey, Merge, groupable, groupable_like
from rowlock.group_commit.writer import GroupCommit

__all__ = ["GroupCommit", "GroupKey", "GroupedCall", "Merge", "groupable", "groupable_like"]
