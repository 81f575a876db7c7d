"""What the tests of workers say of many lists holds on other machines too."""

from tests.worker.test_many_lists import *  # noqa: F403
