"""Asking a person before something cannot be undone."""

import sys

import click

from rowlock.errors import Invalid


def ask(question: str) -> None:
    """Go on only after a yes; without a terminal nobody can be asked, and the flag must say it."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Invalid("this cannot be undone, and there is no terminal to ask on", "say --yes, or look with --dry-run")
    if not click.confirm(question, err=True):
        raise click.Abort
