"""Looking again every second: the same picture, drawn anew, until somebody has seen enough."""

import sys
import time
from collections.abc import Callable

from rowlock.cli import output
from rowlock.cli.exits import INTERRUPTED
from rowlock.cli.invocation import on_terminal

EVERY = 1.0
_HOME_AND_CLEARED = "\x1b[H\x1b[J"


def watch(draw: Callable[[], None]) -> int:
    """Draw every second until Ctrl-C; on a terminal each picture takes the place of the one before."""
    try:
        while True:
            if on_terminal():
                output.write(_HOME_AND_CLEARED)
            draw()
            sys.stdout.flush()
            time.sleep(EVERY)
    except KeyboardInterrupt:  # the only way out, and no mistake
        return INTERRUPTED
