"""The log records of workers, collected for a test."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def collected(level: int = logging.WARNING) -> Iterator[list[logging.LogRecord]]:
    """Collect the records of workers from that level on, whatever a command has set up for this process."""
    logger, collector = logging.getLogger("rowlock.worker"), _Collector()
    before = logger.level
    logger.setLevel(level)
    logger.addHandler(collector)
    try:
        yield collector.records
    finally:
        logger.removeHandler(collector)
        logger.setLevel(before)
