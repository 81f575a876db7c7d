"""What the tests of the verbs say of schedules holds over HTTP too: the same values, the same errors."""

from tests.verbs.test_schedules import *  # noqa: F403
