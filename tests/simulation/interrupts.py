"""KeyboardInterrupt at a chosen moment of a call: wherever Python looks for signals in the code of rowlock."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from tests.races.interrupting import delivers, opnames

import rowlock

PACKAGE = str(Path(rowlock.__file__).parent)
LAZY = tuple(f"{PACKAGE}/db/{name}.py" for name in ("statements", "row_decoders"))
"""What they do the first time they do not do again: moments in them are not counted, so that a seed repeats itself."""


class Countdown:
    """Counts the moments of a call in which a signal could come, and raises at one of them."""

    def __init__(self, at: int) -> None:
        self._left = at
        self._before: dict[FrameType, str] = {}
        self.raised = False

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Follow a new frame, if it is one of rowlock."""
        file = frame.f_code.co_filename
        if self.raised or not file.startswith(PACKAGE) or file in LAZY or frame.f_code.co_name == "<module>":
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self.step

    def step(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Look at the next bytecode."""
        if self.raised or event != "opcode":
            return self.step
        before = self._before.get(frame, "")
        self._before[frame] = opnames(frame.f_code)[frame.f_lasti]
        if delivers(before):
            self._left -= 1
            if self._left < 0:
                self.raised = True
                sys.settrace(None)
                self._before.clear()
                raise KeyboardInterrupt
        return self.step


def interrupted(call: Callable[[], object], *, at: int) -> bool:
    """Do the call, and return whether it was interrupted; other exceptions are raised."""
    countdown = Countdown(at)
    sys.settrace(countdown.trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return countdown.raised
