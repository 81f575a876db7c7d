"""What the tests of the verbs say of ranges holds over HTTP too: the same values, the same errors."""

from tests.verbs.test_ranges import *  # noqa: F403
