"""A transaction that has failed never looks as if it had landed."""

from contextlib import suppress

import psycopg
import pytest

from rowlock import Engine, Invalid


def fail_quietly(engine: Engine) -> None:
    with engine.transaction() as tx:
        tx["work"].add("a")
        with suppress(psycopg.Error):
            tx.execute("select 1 / 0")


def test_an_error_that_was_swallowed_is_raised_at_the_end(postgres_url: str) -> None:
    with Engine(postgres_url) as engine:
        with pytest.raises(Invalid, match="has failed"):
            fail_quietly(engine)
        assert engine.lists() == []
