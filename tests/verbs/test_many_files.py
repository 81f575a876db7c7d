"""A process with more than 1,024 open files waits for work as any other: select() of the system knows no more."""

import os
import resource
from collections.abc import Iterator

import pytest
from tests.waiting import WAIT_SECONDS

from rowlock import Engine, diagnostics

MANY = 1_100


@pytest.fixture
def files(engine: Engine) -> Iterator[None]:
    """So many files that the next one has a high number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in (resource.RLIM_INFINITY, max(hard, 2 * MANY)):
        pytest.skip("this process may not open so many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * MANY), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(MANY)]
    yield
    for each in opened:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])  # CockroachDB and poolers notify nobody
def test_work_is_noticed_by_a_connection_with_a_high_number(engine: Engine, files: None) -> None:
    listener = engine.database.clone(connections=1, listening=True)
    try:
        for seconds in (0, 0.01):  # connects, and waits
            listener.wait_for_hint(seconds)
        engine["work"].add("a")
        engine.database.read(diagnostics.notify)
        assert listener.wait_for_hint(WAIT_SECONDS)
    finally:
        listener.close()
