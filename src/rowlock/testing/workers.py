"""Workers in tests: they run inline until nothing is ready."""

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowlock.outcomes import Verdict
    from rowlock.worker import Worker


def drain(worker: "Worker") -> "Counter[Verdict]":
    """Run the worker until nothing is ready, and count the verdicts: `drain(worker) == {"done": 3}`.

    Items that are retried later are delayed: advance the clock, then drain again.
    """
    verdicts: Counter[Verdict] = Counter()

    def note(*arguments: Any) -> None:
        verdicts[arguments[-1]] += 1

    worker.after(note)
    try:
        worker.run(until="idle", signals=False)
    finally:
        worker._hooks["after"].remove(note)
    return verdicts
