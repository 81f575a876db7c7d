"""What the tests of the verbs say of keys holds over HTTP too: the same values, the same errors."""

from tests.verbs.test_keys import *  # noqa: F403
