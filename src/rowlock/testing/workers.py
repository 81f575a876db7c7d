"""Workers in tests: run inline until nothing is ready."""

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowlock.outcomes import Verdict
    from rowlock.worker import Worker


def drain(worker: "Worker") -> "Counter[Verdict]":
    """Run the worker until nothing is ready; how many items ended how: `drain(worker) == {"done": 3}`.

    What is to be retried later is delayed: move the clock, then drain again.
    """
    happened: Counter[Verdict] = Counter()

    def note(*told: Any) -> None:
        happened[told[-1]] += 1

    worker.after(note)
    try:
        worker.run(until="idle", signals=False)
    finally:
        worker._hooks["after"].remove(note)
    return happened
