"""Exceptions at chosen moments of a call: before any bytecode of some modules, or where Python looks for signals."""

import dis
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import rowlock.db
import rowlock.group_commit

DB = str(Path(rowlock.db.__file__).parent)
GROUP_COMMIT = str(Path(rowlock.group_commit.__file__).parent)
THREADING = threading.__file__

Moment = tuple[tuple[CodeType, int], ...]
"""Where each frame of the watched modules stands, the innermost first."""


@cache
def opnames(code: CodeType) -> dict[int, str]:
    return {each.offset: each.opname for each in dis.get_instructions(code)}


def delivers(opname: str) -> bool:
    # Python looks for signals after calls, when a function is entered, and when a loop begins again.
    return opname.startswith("CALL") or opname in ("RESUME", "JUMP_BACKWARD")


class Tracer:
    """Follows a call through the modules of some folders, bytecode by bytecode."""

    def __init__(self, *, everywhere: bool, folders: tuple[str, ...] = (DB,)) -> None:
        self._everywhere = everywhere
        self._folders = folders
        self._before: dict[FrameType, str] = {}
        self._visit: Callable[[Moment], None] = lambda _: None

    def moments(self, call: Callable[[], object]) -> list[Moment]:
        """All moments of the call, each once, in order."""
        found: dict[Moment, None] = {}
        self._visit = lambda moment: found.setdefault(moment)
        self._traced(call)
        return list(found)

    def interrupted(self, call: Callable[[], object], at: Moment) -> BaseException | None:
        """Do the call and raise KeyboardInterrupt when it first comes to that moment; what it raised."""
        left = [at]

        def visit(moment: Moment) -> None:
            if left and moment == at:
                left.clear()
                raise KeyboardInterrupt

        self._visit = visit
        try:
            self._traced(call)
        except BaseException as error:
            return error
        return None

    def _traced(self, call: Callable[[], object]) -> None:
        sys.settrace(self._trace)
        try:
            call()
        finally:
            sys.settrace(None)
            self._before.clear()  # it would keep what the frames hold

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self._folders):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            before = self._before.get(frame, "")
            self._before[frame] = opnames(frame.f_code)[frame.f_lasti]
            if self._everywhere or delivers(before):
                self._visit(self._moment(frame))
        return self._step

    def _moment(self, frame: FrameType | None) -> Moment:
        places = []
        while frame is not None:
            if frame.f_code.co_filename.startswith(self._folders):
                places.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return tuple(places)
