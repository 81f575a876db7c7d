"""What the tests of the verbs say of items holds over HTTP too: the same values, the same errors."""

from tests.verbs.test_items import *  # noqa: F403
