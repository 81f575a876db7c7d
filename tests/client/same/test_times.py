"""What the tests of the verbs say of times holds over HTTP too: the same values, the same errors."""

from tests.verbs.test_times import *  # noqa: F403
