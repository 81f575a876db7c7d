"""The command line `rowlock`: commands that call the handles of an engine or a client, without rules of their own."""

import sys

from rowlock.cli.exits import run
from rowlock.cli.program import program


def main() -> None:
    """Run the command of the process's arguments, and exit with its exit code."""
    sys.exit(run(program, sys.argv[1:]))
