"""The command line: a face on the engine, which adds no behaviour of its own."""

import sys

from rowlock.cli.exits import run
from rowlock.cli.program import program


def main() -> None:
    """Run the command that the program's arguments name, and end the process with its exit code."""
    sys.exit(run(program, sys.argv[1:]))
