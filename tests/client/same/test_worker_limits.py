"""What the tests of workers say of limits holds on other machines too."""

from tests.worker.test_limits import *  # noqa: F403
