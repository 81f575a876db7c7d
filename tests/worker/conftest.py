"""Workers run on the databases that people run them on."""

import pytest


@pytest.fixture(params=["sqlite", "postgres", pytest.param("pooled", marks=pytest.mark.torture)])
def dialect(request: pytest.FixtureRequest) -> str:
    """The kind of database that a test runs on."""
    return str(request.param)
