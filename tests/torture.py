"""How much a torture does: `TORTURE_SCALE` times what stands beside each test, which together takes under an hour."""

import os

SCALE = float(os.environ.get("TORTURE_SCALE", "1"))


def scaled(count: int) -> int:
    """A number of examples, items or kills, at least one."""
    return max(1, round(count * SCALE))
