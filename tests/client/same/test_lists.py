"""What the tests of the verbs say of lists holds over HTTP too: the same values, the same errors."""

from tests.verbs.test_lists import *  # noqa: F403
