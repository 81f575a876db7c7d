"""What the tests of the verbs say of counters holds over HTTP too: the same values, the same errors."""

from tests.verbs.test_counters import *  # noqa: F403
