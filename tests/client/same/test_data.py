"""What the tests of the verbs say of data holds over HTTP too: the same values, the same errors."""

from tests.verbs.test_data import *  # noqa: F403
