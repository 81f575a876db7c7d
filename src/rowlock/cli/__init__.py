"""The command line `rowlock`: commands that call the handles of an engine or a client, without rules of their own."""

import sys


def main() -> None:
    """Run the command of the process's arguments, and exit with its exit code."""
    try:
        # Imported here: it takes a while, and Ctrl-C may come meanwhile.
        from rowlock.cli.program import run
    except KeyboardInterrupt:
        print("rowlock: interrupted", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))
