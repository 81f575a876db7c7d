"""One more kind of database: PostgreSQL at its strictest isolation."""

import pytest


@pytest.fixture
def serializable_url(postgres_url: str) -> str:
    """The address of a fresh PostgreSQL database whose transactions are serialisable."""
    return f"{postgres_url}&isolation=serializable"
