"""What the tests of the verbs say of search holds over HTTP too: the same values, the same errors."""

from tests.verbs.test_search import *  # noqa: F403
