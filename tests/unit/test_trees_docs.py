"""Every example on the page about trees is true."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "trees.md"


def test_the_examples_on_the_page_run_and_are_true():
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted > 30
    assert results.failed == 0
