"""What the tests of the verbs say of streams holds over HTTP too: the same values, the same errors."""

from tests.verbs.test_streams import *  # noqa: F403
