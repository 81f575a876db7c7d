"""`python -m rowlock` is the command line."""

from rowlock.cli import main

main()
